"""The web application: pages for people, the JSON API for programs, one factory for both."""

from pathlib import Path

from flask import Flask
from htmx_flask import Htmx

from relay_web.domain.vault import Vault
from relay_web.engine.event_schemas import EventSchemas
from relay_web.engine.intake import Intake
from relay_web.settings import Settings
from relay_web.store import Store
from relay_web.web import (
    api,
    api_auth,
    assets,
    auth,
    docs,
    forms,
    health,
    openapi,
    problems,
    render,
    request_ids,
    security,
)
from relay_web.web.pages import account, areas
from relay_web.web.parts import Parts


def create_app(settings: Settings, store: Store) -> Flask:
    """Build the application from its settings and an open store. Nothing is global."""
    app = Flask(
        "relay_web",
        template_folder=str(_beside("templates")),
        static_folder=str(_beside("static")),
        # Without this a wheel would serve its files under another address than a checkout.
        static_url_path="/static",
    )
    app.extensions["relay"] = Parts(
        settings,
        store,
        Intake(store),
        Vault(settings.secrets_keys),
        settings.egress_policy(),
        EventSchemas(store.event_types),
    )
    Htmx(app)
    for layer in (request_ids, assets, render, auth, api_auth, problems, forms):
        layer.register(app)
    security.register(app, settings)
    for bp in (account.bp, *areas.BLUEPRINTS, docs.bp, api.bp, health.bp, openapi.bp):
        app.register_blueprint(bp)
    for bp in (api.bp, health.bp, openapi.bp):
        security.csrf.exempt(bp)
    return app


def _beside(name: str) -> Path:
    """`templates` and `static`: beside the package in a checkout, inside it in a wheel."""
    package = Path(__file__).parents[1]
    outside = package.parent / name
    return outside if outside.is_dir() else package / f"_{name}"
