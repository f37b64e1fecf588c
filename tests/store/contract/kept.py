"""What a service keeps: answers and tokens."""

from __future__ import annotations

import secrets

from driftbandits.errors import InputError
from stores import StoreTests, journal, kept_answer, refused


class ServiceTests(StoreTests):
    """What a service keeps: answers and tokens."""

    def test_answers_are_written_with_what_they_answer(self) -> None:
        from driftbandits.store import Answer, StoreError

        store = self.store()
        writer = store.writers.acquire(self.new(store))
        name, answer = writer.experiment.id, Answer("key", "digest", '{"answer": 1}')
        writer.session.ask()
        store.writers.append([(writer, journal(writer))], [(writer, answer)])
        assert kept_answer(self.store(), name, "key") == answer
        assert kept_answer(store, name, "other") is None
        writer.session.ask()
        refused(StoreError, "", lambda: store.writers.append([(writer, journal(writer))], [(writer, answer)]))
        assert store.experiments.get(name).last_seq == 1
        now = store.database.clock()
        store.database.clock = lambda: now + 60
        assert store.answers.prune(age=3600) == 0
        assert store.answers.prune(age=30) >= 1
        assert kept_answer(store, name, "key") is None

    def test_tokens(self) -> None:
        store = self.store()
        name = f"contract-{secrets.token_hex(6)}"
        secret = store.tokens.add(name, "write")
        found = self.store().tokens.find(secret)
        assert found
        assert (found.name, found.scope, found.revoked) == (name, "write", None)
        assert secret not in repr(store.tokens.all())
        assert store.tokens.find(secret[:-1]) is None
        refused(InputError, "already", lambda: store.tokens.add(name, "read"))
        refused(InputError, "scope", lambda: store.tokens.add("other", "root"))
        store.tokens.revoke(name)
        assert store.tokens.find(secret) is None
        assert [token.revoked is not None for token in store.tokens.all() if token.name == name] == [True]
        refused(InputError, "no token", lambda: store.tokens.revoke("nobody-knows-me"))

    def test_tokens_end_and_may_be_for_some_experiments(self) -> None:
        store = self.store()
        name, now = f"contract-{secrets.token_hex(6)}", store.database.clock()
        secret = store.tokens.add(name, "read", expires=now + 60, experiments=["button", "eu-*"])
        found = store.tokens.find(secret)
        assert found is not None
        assert [found.is_for(id) for id in ("button", "eu-1", "button2", "us-1")] == [True, True, False, False]
        store.database.clock = lambda: now + 61
        assert store.tokens.find(secret) is None
        refused(InputError, "must end after now", lambda: store.tokens.add("late", "read", expires=now))
        refused(InputError, "for no experiment", lambda: store.tokens.add("none", "read", experiments=[]))
