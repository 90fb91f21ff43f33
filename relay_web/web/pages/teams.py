"""A person's teams, and making another one."""

from flask import Blueprint, Response, request, url_for

from relay_web.domain.people import check_team_name
from relay_web.errors import Conflict, Forbidden, Invalid
from relay_web.web import auth
from relay_web.web.forms import typed
from relay_web.web.parts import parts
from relay_web.web.render import page, see_other

bp = Blueprint("teams", __name__, url_prefix="/teams")


@bp.get("")
def index() -> Response:
    who = auth.person()
    return page(
        "teams", teams=parts().store.accounts.teams.of_user(who.id), may_make=_may_make(who.id)
    )


@bp.get("/new")
def new() -> Response:
    _check_may_make(auth.person().id)
    return page("team_new", errors={}, value="")


@bp.post("/new")
def create() -> Response:
    """A new team, owned by who makes it."""
    who = auth.person()
    _check_may_make(who.id)
    try:
        name = check_team_name(request.form.get("team", ""))
        team = parts().store.accounts.teams.add(name, who.id)
    except (Invalid, Conflict) as refused:
        errors = {"team": refused.message}
        return page("team_new", status=refused.status, errors=errors, value=typed("team"))
    auth.audit_as(who.user, team.id, "team.made", team.id, name=name)
    return see_other(url_for("overview.index", team=team.slug))


def _may_make(user: str) -> bool:
    """Where people join by invitation, new teams are made by those who own one already."""
    if parts().settings.signup == "open":
        return True
    teams = parts().store.accounts.teams.of_user(user)
    return not teams or any(role == "owner" for _, role in teams)


def _check_may_make(user: str) -> None:
    if not _may_make(user):
        raise Forbidden("On this instance only owners make teams. Ask an owner of yours.")
