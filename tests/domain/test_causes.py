"""Every cause has words a person can act on."""

import pytest

from relay_web.domain.causes import Cause, cause_of_status
from relay_web.domain.explanations import EXPLANATIONS, explain


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_has_a_sentence_and_a_next_step(cause: Cause) -> None:
    told = explain(cause, host="hooks.example.com", status=503, detail="a detail")
    for text in (told.sentence, told.next_step):
        assert text.endswith(".")
        assert "{" not in text
        assert text[0].isupper() or text.startswith("hooks.example.com")


def test_the_list_is_closed() -> None:
    assert set(EXPLANATIONS) == set(Cause)


def test_causes_that_leave_the_receiver_s_side_open_say_so() -> None:
    open_ended = {cause for cause in Cause if explain(cause).may_have_been_processed}
    assert {Cause.RESPONSE_TIMEOUT, Cause.BODY_TIMEOUT, Cause.RESET, Cause.LOST} <= open_ended
    assert not open_ended & {Cause.DNS_FAILURE, Cause.BLOCKED_ADDRESS, Cause.TLS_EXPIRED}


def test_a_host_cannot_write_into_the_sentence() -> None:
    assert "{status}" in explain(Cause.REDIRECT, host="{status}", status=302).sentence


def test_a_detail_is_told_where_it_adds_something() -> None:
    expired = explain(Cause.TLS_EXPIRED, host="a.example", detail="certificate expired on 1 May")
    assert expired.sentence.endswith("(certificate expired on 1 May).")
    assert "(" not in explain(Cause.SERVER_ERROR, detail="answered 500").sentence


@pytest.mark.parametrize("status", range(100, 1000))
def test_2xx_is_the_only_success(status: int) -> None:
    assert (cause_of_status(status) is None) == (200 <= status < 300)
