"""What a service keeps: answers and tokens."""

from __future__ import annotations

import secrets

from driftbandits.errors import InputError
from stores import StoreTests, journal, refused


class ServiceTests(StoreTests):
    """What a service keeps: answers and tokens."""

    def test_answers_are_written_with_what_they_answer(self) -> None:
        from driftbandits.store import Answer, StoreError

        store = self.store()
        writer = store.acquire(self.new(store))
        name, answer = writer.experiment.id, Answer("key", "digest", '{"answer": 1}')
        writer.session.ask()
        store.append([(writer, journal(writer))], [(writer, answer)])
        assert self.store().answer(name, "key") == answer
        assert store.answer(name, "other") is None
        writer.session.ask()
        refused(StoreError, "", lambda: store.append([(writer, journal(writer))], [(writer, answer)]))
        assert store.experiment(name).last_seq == 1
        now = store.clock()
        store.clock = lambda: now + 60
        assert store.prune_answers(age=3600) == 0
        assert store.prune_answers(age=30) >= 1
        assert store.answer(name, "key") is None

    def test_tokens(self) -> None:
        store = self.store()
        name = f"contract-{secrets.token_hex(6)}"
        secret = store.add_token(name, "write")
        found = self.store().token(secret)
        assert found
        assert (found.name, found.scope, found.revoked) == (name, "write", None)
        assert secret not in repr(store.tokens())
        assert store.token(secret[:-1]) is None
        refused(InputError, "already", lambda: store.add_token(name, "read"))
        refused(InputError, "scope", lambda: store.add_token("other", "root"))
        store.revoke_token(name)
        assert store.token(secret) is None
        assert [token.revoked is not None for token in store.tokens() if token.name == name] == [True]
        refused(InputError, "no token", lambda: store.revoke_token("nobody-knows-me"))

    def test_tokens_end_and_may_be_for_some_experiments(self) -> None:
        store = self.store()
        name, now = f"contract-{secrets.token_hex(6)}", store.clock()
        secret = store.add_token(name, "read", expires=now + 60, experiments=["button", "eu-*"])
        found = store.token(secret)
        assert found is not None
        assert [found.is_for(id) for id in ("button", "eu-1", "button2", "us-1")] == [True, True, False, False]
        store.clock = lambda: now + 61
        assert store.token(secret) is None
        refused(InputError, "must end after now", lambda: store.add_token("late", "read", expires=now))
        refused(InputError, "for no experiment", lambda: store.add_token("none", "read", experiments=[]))
