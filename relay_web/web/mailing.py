"""Mail that a page sends, where the instance has a server for it."""

import threading
from collections.abc import Callable

from relay_web.engine.mail import Mailer
from relay_web.errors import Unavailable
from relay_web.web.parts import parts


def mailer() -> Mailer | None:
    """None where links have to be copied."""
    url = parts().settings.smtp_url
    return Mailer(url) if url else None


def beside(work: Callable[[], None]) -> None:
    """Do `work` beside the request: how long it takes would tell whether an account exists.

    A server that does not take the mail is no error of the page's either; the person asks again.
    """

    def run() -> None:
        try:
            work()
        except Unavailable:
            return

    threading.Thread(target=run, daemon=True).start()
