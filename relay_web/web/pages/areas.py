"""Every area of a team. Importing this module registers all of their views."""

from typing import Final

from relay_web.web.pages import (
    bulk,
    comparing,
    confirming,
    deliveries,
    delivery,
    devices,
    endpoints,
    event_actions,
    events,
    exporting,
    joining,
    keys,
    overview,
    people,
    recovering,
    registering,
    resetting,
    secrets,
    team_settings,
    teams,
    workers,
)

#: Some areas are spread over several modules; each blueprint is listed once.
BLUEPRINTS: Final = tuple(
    dict.fromkeys(
        module.bp
        for module in (
            overview, endpoints, registering, secrets, events, event_actions, deliveries, delivery,
            bulk, recovering, comparing, workers, people, keys, team_settings, joining, confirming,
            resetting, devices, teams, exporting,
        )
    )
)  # fmt: skip
