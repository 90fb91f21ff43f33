"""The list of deliveries: pages both ways, and what somebody has typed so far."""

from relay_web.store import Store
from relay_web.store.filtering import Filters
from tests.factories import TEAM, make_delivery, make_endpoint


def test_pages_meet_without_gap_or_overlap_in_both_directions(store: Store) -> None:
    endpoint = make_endpoint(store)
    ids = sorted((make_delivery(store, endpoint).id for _ in range(7)), reverse=True)
    first = store.timeline.deliveries(TEAM, Filters(), limit=3)
    second = store.timeline.deliveries(TEAM, Filters(), after=first.next, limit=3)
    third = store.timeline.deliveries(TEAM, Filters(), after=second.next, limit=3)
    shown = [row.delivery.id for page in (first, second, third) for row in page.items]
    assert shown == ids
    assert (first.previous, third.next) == (None, None)
    back = store.timeline.deliveries(TEAM, Filters(), before=third.previous, limit=3)
    assert [row.delivery.id for row in back.items] == ids[3:6]
    assert back.next == second.next
    start = store.timeline.deliveries(TEAM, Filters(), before=back.previous, limit=3)
    assert [row.delivery.id for row in start.items] == ids[:3]
    assert start.previous is None


def test_a_prefix_finds_types_and_ids_that_begin_so(store: Store) -> None:
    endpoint = make_endpoint(store)
    paid = make_delivery(store, endpoint, type="invoice.paid").id
    void = make_delivery(store, endpoint, type="invoice.void").id
    user = make_delivery(store, endpoint, type="user.created").id

    def found(**typed: str) -> set[str]:
        page = store.timeline.deliveries(TEAM, Filters(**typed))  # type: ignore[arg-type]  # by key
        return {row.delivery.id for row in page.items}

    assert found(type_prefix="invoice") == {paid, void}
    assert found(type_prefix="invoice.v") == {void}
    assert found(type_prefix="voice") == set()
    assert found(id_prefix=user[:-4]) == {user}
