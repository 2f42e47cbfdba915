"""Start a collector: open its surveys, hold its store, listen, and stop with nothing left unanswered."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Self

from sfumato.collector.access import issue_token, valid_tokens
from sfumato.collector.http.application import application
from sfumato.collector.http.server import Server, address_of, listen
from sfumato.collector.http.service import Service
from sfumato.collector.settings import DEFAULTS, Settings
from sfumato.collector.store import Connection, Store, Survey, open_store
from sfumato.collector.surveys import ensure_survey
from sfumato.plan import Plan


class UnservablePlanError(ValueError):
    """A plan cannot be served from this store; ``plan`` is the one of those that were given."""

    def __init__(self, plan: Plan, said: str) -> None:
        super().__init__(said)
        self.plan = plan


def start(
    plan: Plan | Iterable[Plan] = (), store: Store | str = "sfumato.db", settings: Settings = DEFAULTS
) -> Collector:
    """Start a collector on a thread of this process; it answers when this returns.

    ``plan``: one or several, each opened as a survey of its name unless it is one already; surveys that the store has
    are served too. ``store``: a store or its address. ``settings``: where it listens, and every other number.
    ValueError: a plan or the address cannot be served. StoreError: the store is away, or another process serves it.

    >>> import sfumato as sf, tempfile
    >>> from sfumato import collector
    >>> from sfumato.client.wire import ask
    >>> plan = sf.Plan.from_dict({"name": "town", "attributes": {"smokes": {
    ...     "categories": ["yes", "no"], "channel": "randomized-response", "gamma": 19}}})
    >>> with tempfile.TemporaryDirectory() as folder, collector.start(plan, f"{folder}/town.db") as running:
    ...     ask(running.page("town") + "plan").good
    True
    """
    plans = [plan] if isinstance(plan, Plan) else list(plan)
    if not all(isinstance(each, Plan) for each in plans):
        raise TypeError(f"plan={plan!r} is no plan; give sf.Plan.load(path), or several of them")
    with ExitStack() as stack:
        listener = stack.enter_context(listen(settings))
        opened = store if isinstance(store, Store) else open_store(store, settings)
        stack.enter_context(opened.exclusive())
        with opened.connected() as connection, connection.transaction():
            for each in plans:
                _open(connection, each, settings)
            surveys = connection.surveys()
            known = any(survey is None for _, survey, _, _ in valid_tokens(connection))
            token = issue_token(connection, None) if settings.token and not known else None
        service = Service(opened, settings)
        server = Server(application(service), listener, service.log, settings)
        address = address_of(listener)
        if settings.signals:
            stack.enter_context(stopped_by_signals(server))
        server.start()
        stack.callback(server.stop)
        return Collector(address, token, surveys, service, server, stack.pop_all())


def _open(connection: Connection, plan: Plan, settings: Settings) -> None:
    try:
        ensure_survey(connection, plan, keep_days=settings.keep_days, invited=settings.invited)
    except ValueError as error:
        raise UnservablePlanError(plan, str(error)) from None


@contextmanager
def stopped_by_signals(server: Server) -> Iterator[None]:
    """Inside, Ctrl-C and TERM end the server; called on the main thread."""
    former = {number: signal.signal(number, server.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler or signal.SIG_DFL)


class Collector:
    """A collector that runs, until `stop` or the end of a ``with`` block."""

    def __init__(
        self, address: str, token: str | None, surveys: list[Survey], service: Service, server: Server,
        resources: ExitStack,
    ) -> None:  # fmt: skip
        self.address = address
        """Where it answers, as http://127.0.0.1:8000."""
        self.token = token
        """A token for an analyst that reaches everything; None where one is valid already, or none was wanted."""
        self.surveys = surveys
        """The surveys of the store when it started."""
        self.service = service
        """What its endpoints share."""
        self._server, self._resources = server, resources

    def page(self, survey: str) -> str:
        """The address of a survey's page, to which its other addresses are relative."""
        return f"{self.address}/{survey}/"

    def stop(self) -> None:
        """Finish what is under way, and let go of the store; a second time nothing happens."""
        self._resources.close()

    def wait(self) -> None:
        """Return when it has ended."""
        self._server.thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
