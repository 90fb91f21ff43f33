"""Every page there is to look at, by name."""

from tests.browser.scenery import Scene


def stops(scene: Scene) -> dict[str, str]:
    """Name and address of each page of the scene's team."""
    home = f"/t/{scene.slug}"
    found = {
        "overview": f"{home}/",
        "endpoints": f"{home}/endpoints",
        "endpoint-new": f"{home}/endpoints/new",
        "endpoint-failing": f"{home}/endpoints/{scene.endpoints['Billing']}",
        "endpoint-paused": f"{home}/endpoints/{scene.endpoints['Ledger']}",
        "endpoint-edit": f"{home}/endpoints/{scene.endpoints['CRM sync']}/edit",
        "events": f"{home}/events",
        "event": f"{home}/events/{scene.event}",
        "deliveries": f"{home}/deliveries",
        "deliveries-filtered": f"{home}/deliveries?state=retrying&cause=tls_expired",
        "deliveries-none": f"{home}/deliveries?type=nothing.here",
        "workers": f"{home}/workers",
        "settings-people": f"{home}/settings",
        "settings-keys": f"{home}/settings/keys",
        "settings-audit": f"{home}/settings/audit",
        "settings-general": f"{home}/settings/general",
        "teams": "/teams",
        "team-new": "/teams/new",
        "account": "/account",
        "devices": "/account/devices",
        "compare": f"{home}/deliveries/{scene.deliveries['retrying']}/compare",
        "curl": f"{home}/deliveries/{scene.deliveries['retrying']}/attempts/1/curl",
        "attempt": f"{home}/deliveries/{scene.deliveries['retrying']}/attempts/3",
        "docs": "/docs",
        "not-found": f"{home}/deliveries/dlv_nothing",
    }
    stories = {
        f"delivery-{name}": f"{home}/deliveries/{key}" for name, key in scene.deliveries.items()
    }
    return found | stories
