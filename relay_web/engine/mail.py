"""Mail by SMTP, where the instance has a server for it; links can be copied everywhere else."""

import smtplib
import ssl
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Final
from urllib.parse import unquote, urlsplit

import structlog

from relay_web.errors import Unavailable

log = structlog.get_logger(__name__)

#: Seconds for the whole conversation with the server.
TIMEOUT: Final = 10.0
_PORTS: Final = {"smtp": 587, "smtps": 465}


@dataclass(frozen=True, slots=True)
class Mailer:
    """Sends through `url`: `smtp://user:password@host:587` (STARTTLS if offered) or `smtps://`."""

    url: str

    def send(self, to: str, subject: str, text: str) -> None:
        """Hand one message to the server; raises `Unavailable` where that did not take it."""
        server = urlsplit(self.url)
        user = unquote(server.username or "")
        message = EmailMessage()
        message["From"] = user if "@" in user else f"relay@{server.hostname}"
        message["To"] = to
        message["Subject"] = subject
        message.set_content(text)
        try:
            self._hand_over(message, user, unquote(server.password or ""))
        except (OSError, smtplib.SMTPException) as error:
            # The address and the text are a person's; the server's answer may quote them.
            log.warning("mail.refused", error=type(error).__name__)
            raise Unavailable("The mail server did not take the message; copy the link.") from None

    def _hand_over(self, message: EmailMessage, user: str, password: str) -> None:
        server = urlsplit(self.url)
        host, port = server.hostname or "", server.port or _PORTS[server.scheme]
        trusted = ssl.create_default_context()
        with (
            smtplib.SMTP_SSL(host, port, timeout=TIMEOUT, context=trusted)
            if server.scheme == "smtps"
            else smtplib.SMTP(host, port, timeout=TIMEOUT)
        ) as connection:
            if server.scheme == "smtp":
                connection.ehlo()
                if connection.has_extn("starttls"):
                    connection.starttls(context=trusted)
                elif user:
                    raise smtplib.SMTPException("no STARTTLS: the password would travel in clear")
            if user:
                connection.login(user, password)
            connection.send_message(message)
