"""What guards every page: headers, forgery checks, the proxy in front, https."""

from typing import Final
from urllib.parse import urlsplit

from flask import Flask, Response, redirect, request
from flask_wtf.csrf import CSRFProtect
from werkzeug.exceptions import SecurityError
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.sansio.utils import host_is_trusted

from relay_web.errors import Forbidden
from relay_web.settings import Settings

csrf = CSRFProtect()

#: No inline script or style, no other host, no frames, no plug-ins (reliability W7).
CONTENT_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Final = (
    ("Content-Security-Policy", CONTENT_POLICY),
    ("X-Content-Type-Options", "nosniff"),
    # Not no-referrer: over https the forgery check needs the Referer of our own forms.
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
OWN_SITES: Final = frozenset({"same-origin", "none"})
API: Final = "/api/"
#: Answered over plain http and under any host: platforms ask for them inside their own network.
HEALTH: Final = frozenset({"/healthz", "/readyz"})


def register(app: Flask, settings: Settings) -> None:
    """Set up cookies, checks and headers; production (not development) means https only."""
    production = not settings.development
    app.config.update(
        SECRET_KEY=settings.secret_key,
        SESSION_COOKIE_NAME="__Host-relay" if production else "relay",
        SESSION_COOKIE_SECURE=production,
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        # A slow answer that carries the session of before would undo a newer one.
        SESSION_REFRESH_EACH_REQUEST=False,
        # A tab that stays open over night must still be able to post.
        WTF_CSRF_TIME_LIMIT=None,
        MAX_FORM_PARTS=200,
        MAX_FORM_MEMORY_SIZE=256 * 1024,
    )
    csrf.init_app(app)
    hops = settings.trusted_proxies
    if hops:
        app.wsgi_app = ProxyFix(  # type: ignore[method-assign]
            app.wsgi_app, x_for=hops, x_proto=hops, x_host=0, x_port=0
        )
    if settings.public_url:
        own = urlsplit(settings.public_url).hostname or ""
        app.before_request(lambda: _known_host(own))
    if production:
        app.before_request(_to_https)
    app.before_request(_from_our_own_site)
    app.after_request(_headers)


def _known_host(own: str) -> None:
    if request.path not in HEALTH and not host_is_trusted(request.host, [own]):
        raise SecurityError


def _to_https() -> Response | None:
    if request.is_secure or request.path in HEALTH:
        return None
    if request.method not in SAFE_METHODS:
        raise Forbidden("Send this over https.")
    answer = redirect(request.url.replace("http://", "https://", 1), 308)
    return answer  # type: ignore[return-value]


def _from_our_own_site() -> None:
    """Refuse a browser's unsafe request that another site made (reliability W5)."""
    if request.method in SAFE_METHODS or request.path.startswith(API):
        return
    if request.headers.get("Sec-Fetch-Site", "none") not in OWN_SITES:
        raise Forbidden("This request came from another site. Nothing was changed.")


def _headers(answer: Response) -> Response:
    for name, value in HEADERS:
        answer.headers.setdefault(name, value)
    if request.is_secure:
        answer.headers.setdefault("Strict-Transport-Security", "max-age=31536000")
    if not request.path.startswith("/static/"):
        answer.headers.setdefault("Cache-Control", "private, no-store")
    return answer
