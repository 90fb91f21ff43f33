"""A scripted name server on loopback, for names whose answers change or never come.

    with NameServer() as names:
        names.zone["flip.test"] = [["127.0.0.1"], ["127.66.0.1"]]   # in turn; the last one repeats
        names.zone["dead.test"] = SILENT
        Resolver(servers="127.0.0.1", port=names.port)

An answer is a list of IPv4 and IPv6 addresses, `SILENT`, or `SERVFAIL`. Unknown names do not exist.
Each look-up takes one turn, although it asks for A and AAAA apart.
"""

import socket
import threading
from collections import Counter
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from dnslib import AAAA, QTYPE, RCODE, RR, A, DNSRecord

SILENT: Final = "silent"
SERVFAIL: Final = "servfail"

Answer = list[str] | str


class NameServer:
    """Answers over UDP from a thread; use it as a context manager."""

    def __init__(self) -> None:
        self._sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sock.bind(("127.0.0.1", 0))
        self.port: int = self._sock.getsockname()[1]
        #: By name: an answer for all time, or a list of answers in turn.
        self.zone: dict[str, Answer | list[list[str]]] = {}
        #: Questions by (name, type).
        self.asked: Counter[tuple[str, str]] = Counter()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as poke:
            poke.sendto(b"", ("127.0.0.1", self.port))
        self._thread.join(5)
        self._sock.close()

    def _serve(self) -> None:
        while True:
            packet, sender = self._sock.recvfrom(4096)
            if not packet:
                return
            reply = self._reply(DNSRecord.parse(packet))
            if reply is not None:
                self._sock.sendto(reply.pack(), sender)

    def _reply(self, question: DNSRecord) -> DNSRecord | None:
        name = str(question.q.qname).rstrip(".").lower()
        kind = QTYPE[question.q.qtype]
        turn = self.asked[name, kind]
        self.asked[name, kind] += 1
        reply = question.reply()
        answer = self.zone.get(name)
        if answer == SILENT:
            return None
        if answer is None or answer == SERVFAIL:
            reply.header.rcode = RCODE.NXDOMAIN if answer is None else RCODE.SERVFAIL
            return reply
        if isinstance(answer, list) and answer and isinstance(answer[0], list):
            answer = answer[min(turn, len(answer) - 1)]
        for address in answer:
            is_six = ":" in address
            if is_six == (kind == "AAAA"):
                data = AAAA(address) if is_six else A(address)
                reply.add_answer(RR(name, question.q.qtype, rdata=data, ttl=0))
        return reply
