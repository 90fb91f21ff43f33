"""Signing in and out, and what a person sets for themselves."""

from typing import Final

from flask import Blueprint, Response, flash, request, url_for
from flask_login import current_user

from relay_web.errors import Invalid, TooMany
from relay_web.web import auth, times
from relay_web.web.parts import parts
from relay_web.web.render import (
    ORDER_COOKIE,
    SHORTCUTS_COOKIE,
    THEME_COOKIE,
    ZONE_COOKIE,
    page,
    see_other,
    theme,
)

bp = Blueprint("account", __name__)

YEAR: Final = 365 * 24 * 3600
THEMES: Final = ("system", "light", "dark")


@bp.get("/")
def home() -> Response:
    """To the person's first team; to the sign-in page for everybody else."""
    if not current_user.is_authenticated:
        return see_other(url_for("account.sign_in_page"))
    teams = parts().store.accounts.teams.of_user(auth.person().id)
    if not teams:
        return page("no_team")
    return see_other(url_for("overview.index", team=teams[0][0].slug))


@bp.get("/signin")
def sign_in_page() -> Response:
    going = auth.safe_path(request.args.get("next"))
    return see_other(going) if current_user.is_authenticated else page("signin", going=going)


@bp.post("/signin")
def sign_in() -> Response:
    """The same words and the same time, whether the address or the password was wrong."""
    email, going = request.form.get("email", ""), auth.safe_path(request.form.get("next"))
    try:
        user = auth.check_credentials(email, request.form.get("password", ""))
        auth.sign_in(user)
    except (Invalid, TooMany) as refused:
        answer = page(
            "signin", status=refused.status, going=going, email=email[:254], error=refused.message
        )
        if refused.retry_after is not None:
            answer.headers["Retry-After"] = str(refused.retry_after)
        return answer
    auth.audit_as(user, None, "user.signed_in", user.id)
    return see_other(going)


@bp.post("/signout")
def sign_out() -> Response:
    if current_user.is_authenticated:
        auth.audit_as(auth.person().user, None, "user.signed_out", auth.person().id)
    auth.sign_out()
    answer = see_other(url_for("account.sign_in_page"))
    # Nothing of the team stays in this browser, the back button's copy included.
    answer.headers["Clear-Site-Data"] = '"cache"'
    return answer


@bp.get("/account")
def settings() -> Response:
    auth.person()
    return page("account", themes=THEMES, chosen=theme() or "system", zone_text=_zone_text())


@bp.post("/account")
def save() -> Response:
    """Keep theme and time zone in cookies, so that the first paint is right."""
    auth.person()
    wanted, text = request.form.get("theme", "system"), request.form.get("zone", "").strip()
    known = not text or text == "UTC" or str(times.zone_named(text)) == text
    if not known:
        error = "There is no such time zone; write one such as Europe/Berlin, or leave it empty."
        return page(
            "account", status=422, themes=THEMES, chosen=wanted, zone_text=text, error=error
        )
    flash("Saved.", "ok")
    answer = see_other(url_for("account.settings"))
    secure = not parts().settings.development
    kept = {
        THEME_COOKIE: wanted if wanted in THEMES[1:] else "",
        ZONE_COOKIE: text,
        ORDER_COOKIE: "newest" if request.form.get("order") == "newest" else "",
        SHORTCUTS_COOKIE: "" if request.form.get("shortcuts") else "off",
    }
    for name, value in kept.items():
        if value:
            answer.set_cookie(name, value, max_age=YEAR, samesite="Lax", secure=secure)
        else:
            answer.delete_cookie(name, samesite="Lax", secure=secure)
    return answer


def _zone_text() -> str:
    return request.cookies.get(ZONE_COOKIE, "")[:64]
