"""Whole addresses for what leaves the browser: mails, copied links."""

from flask import current_app, request

from relay_web.web.parts import parts


def whole(endpoint: str, **values: str) -> str:
    """The full URL of a view, under the public URL where one is set (reliability W9)."""
    root = parts().settings.public_url or request.url_root.rstrip("/")
    path: str = current_app.url_for(endpoint, **values)  # type: ignore[arg-type]
    return root + path
