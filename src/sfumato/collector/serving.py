"""Start and stop a collector: its surveys, its store, and the server that listens."""

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
    """The error that says that a plan cannot be served from this store, for instance because its name is taken.

    ``plan``: the plan, one of those given to `start`. ``message``: the reason, one line.
    """

    def __init__(self, plan: Plan, message: str) -> None:
        super().__init__(message)
        self.plan = plan


def start(
    plan: Plan | Iterable[Plan] = (), store: Store | str = "sfumato.db", settings: Settings = DEFAULTS
) -> Collector:
    """Start a collector on a thread of this process, and return it when it answers requests.

    ``plan``: one plan or several; each is opened as a survey of its name unless the store has it already. The other
    surveys of the store are served too. ``store``: a store, or its address: the path of a SQLite file, or
    postgresql://… ``settings``: where the collector listens, and every other number. UnservablePlanError: a plan cannot
    be served. ValueError: it cannot listen there. StoreError: the store cannot be reached, or another process serves
    it.

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
        store = store if isinstance(store, Store) else open_store(store, settings)
        stack.enter_context(store.exclusive())
        with store.connected() as connection, connection.transaction():
            for each in plans:
                _open(connection, each, settings)
            surveys = connection.surveys()
            has_token = any(survey is None for _, survey, _, _ in valid_tokens(connection))
            token = issue_token(connection, None) if settings.token and not has_token else None
        service = Service(store, settings)
        server = Server(application(service), listener, service.log, settings)
        address = address_of(listener)
        if settings.signals:
            stack.enter_context(stopped_by_signals(server))
        server.start()
        stack.callback(server.stop)
        return Collector(address, token, surveys, service, server, stack.pop_all())


def _open(connection: Connection, plan: Plan, settings: Settings) -> None:
    """Open the survey of a plan in the store unless it has it. UnservablePlanError: it cannot be opened."""
    try:
        ensure_survey(connection, plan, keep_days=settings.keep_days, invited=settings.invited)
    except ValueError as error:
        raise UnservablePlanError(plan, str(error)) from None


@contextmanager
def stopped_by_signals(server: Server) -> Iterator[None]:
    """Make Ctrl-C and TERM stop the server during the block; called on the main thread."""
    former = {number: signal.signal(number, server.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler or signal.SIG_DFL)


class Collector:
    """A running service that takes reports over HTTP; it stops at `stop` or at the end of a with block.

    `start` makes it. ``address``: where it answers, as http://127.0.0.1:8000. ``token``: a token for an analyst that
    permits everything; None: one is valid already, or none was wanted. ``surveys``: the surveys of the store when it
    started. ``service``: what its endpoints share. ``server``: the HTTP server. ``resources``: what `stop` closes.
    """

    def __init__(
        self, address: str, token: str | None, surveys: list[Survey], service: Service, server: Server,
        resources: ExitStack,
    ) -> None:  # fmt: skip
        self.address, self.token, self.surveys, self.service = address, token, surveys, service
        self._server, self._resources = server, resources

    def page(self, survey: str) -> str:
        """Return the address of the page of the survey with this name; its other addresses begin with it."""
        return f"{self.address}/{survey}/"

    def stop(self) -> None:
        """Stop the service: answer the requests under way, end the server and release the store.

        A second call does nothing.
        """
        self._resources.close()

    def wait(self) -> None:
        """Wait until the server has ended, for instance by Ctrl-C."""
        self._server.thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
