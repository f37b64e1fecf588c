"""Rewards are told by Decision or id, one or many; and what a Session, an Online and a policy look like."""

from __future__ import annotations

from typing import Any

import pytest

import driftbandits as db
from driftbandits.policies import POLICIES, make_policy


@pytest.mark.parametrize(
    "told",
    [
        lambda asked: [(decision.id, 0.5) for decision in asked],
        lambda asked: [(decision, 0.5) for decision in asked],
        lambda asked: {decision.id: 0.5 for decision in asked},
        lambda asked: dict.fromkeys(asked, 0.5),
    ],
)
def test_rewards_in_every_form(told: Any) -> None:
    session, plain = (db.Session(arms=["red", "blue"], clock=lambda: 0.0, unit_key="k") for _ in range(2))
    assert session.tell(session.ask(), 1.0) == plain.tell(plain.ask().id, 1.0) == "new"
    assert session.tell_many(told(session.ask_many(3))) == ["new"] * 3
    plain.tell_many([(decision.id, 0.5) for decision in plain.ask_many(3)])
    assert session.snapshot() == plain.snapshot()


@pytest.mark.parametrize("wrong", [3, ["d-1"], [1], [("d-1", 0.5, 1)]])
def test_what_are_no_rewards(wrong: Any) -> None:
    session = db.Session(arms=["red", "blue"])
    session.ask()
    with pytest.raises(db.InputError, match="rewards must be pairs"):
        session.tell_many(wrong)
    assert session.open == 1


def test_what_waits_are_the_decisions_that_were_asked_for() -> None:
    session = db.Session(arms=["red", "blue"], timeout=60, clock=lambda: 0.0)
    asked = session.ask_many(3)
    assert session.tell(session.waiting()[1], 0.5) == "new"
    assert session.waiting() == [asked[0], asked[2]]


def test_new_seeds() -> None:
    assert len({db.Session(arms=["a", "b"], seed=None).seed for _ in range(3)}) == 3
    assert db.Online(db.Uniform(), 2, seed=None).select() in (0, 1)


def test_how_they_look() -> None:
    session = db.Session(db.UCB1(), ["<red>", *(f"arm {index}" for index in range(99))], seed=7)
    session.tell(session.ask(), 0.25)
    play = db.Online(db.UCB1(), n_arms=100)
    play.update(play.select(), 0.25)
    assert "asked 1, learnt 1, open 0, seed 7" in repr(session)
    assert "and 80 more" in repr(session)
    assert repr(play) == "<Online: policy UCB1(), arms 100, steps 1>"
    for each in (session, play):
        html = each._repr_html_()
        assert "<red>" not in html
        assert html.count("<tr>") <= 30
    for fresh in (db.Session(arms=["a", "b"]), db.Online(db.UCB1(), 2), db.Online(db.Uniform(), 2)):
        assert "nan" not in fresh._repr_html_()  # nothing is known yet


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_tells_its_parameters(name: str) -> None:
    """And is cloned as scikit-learn does it: from what ``get_params`` gives, and no parameter becomes another."""
    instance = db.instances.toggling(2_000)
    policy = make_policy(name, instance)
    clone = type(policy)(**policy.get_params(deep=False))
    for parameter, value in clone.get_params().items():
        assert value is policy.get_params()[parameter] or parameter == "best_arms"
    html = policy._repr_html_()
    assert f"<b>{name}</b>" in html
    for chosen in policy.parameters(max(2, policy.arms[0])):
        assert chosen in html
