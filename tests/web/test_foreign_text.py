"""Text that strangers wrote stays text, wherever it is shown (case C44)."""

from html import unescape

from relay_web.store import Store
from tests.factories import make_endpoint
from tests.stories import Teller
from tests.web.conftest import Visitor

EVIL = '"><script>window.x=1</script>'
BODY = b"<script>window.x=1</script><img src=x onerror=window.x=1>{{7*7}}\x00\x1b[31m\xe2\x80\xae"


def test_no_stored_text_becomes_markup(ana: Visitor, store: Store) -> None:
    endpoint = make_endpoint(store, ana.team.id, name=EVIL, url=f"https://x.example/{EVIL}")
    data = b'{"text":"</pre><script>window.x=1</script>{{7*7}}"}'
    key = Teller(store, ana.team.id).delivery(
        endpoint,
        data=data,
        tries=[
            {
                "at": 50,
                "status": 500,
                "cause": "server_error",
                "reason": "500 <svg onload=window.x=1>",
                "body": BODY,
                "headers": [["X-A", "<b onmouseover=window.x=1>"], [EVIL, EVIL]],
            }
        ],
    )
    event = store.deliveries.get(ana.team.id, key).event
    pages = [
        "/",
        "/endpoints",
        f"/endpoints/{endpoint.id}",
        f"/endpoints/{endpoint.id}/edit",
        "/events",
        f"/events/{event}",
        "/deliveries",
        f"/deliveries/{key}",
        f"/deliveries/{key}/attempts/1",
        f"/deliveries/{key}?payload=raw",
        "/workers",
    ]
    for path in pages:
        answer = ana.get(path)
        assert answer.status_code == 200, path
        html = answer.text
        for markup in (
            "<script>window",
            "<img src=x",
            "<svg onload",
            "<b onmouseover",
            "49",
            "\x00",
        ):
            if markup == "49":  # an evaluated template would print it in place of the text
                assert "{{7*7}}" in html or "7*7" not in unescape(html), path
            else:
                assert markup not in html, (path, markup)
    shown = ana.get(f"/deliveries/{key}").text
    assert "⟨U+202E⟩" in shown
    assert "⟨U+0000⟩" in shown
    assert unescape(shown).count("<script>window.x=1</script>") >= 2
