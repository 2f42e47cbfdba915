"""Every number of a collector that an operator may want to change: what it does, its unit, and where it comes from.

Sources: *bench* is `bench/collector.py`, for load or with `--only memory`; *tests* are those of `tests/collector` and
of `sfumato serve`; *judgement* was measured nowhere. What devices rely on is no setting: `http/messages.py` has the
form of requests.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The settings of one collector.

    >>> Settings(port=8080, job_seconds=600).job_seconds
    600
    """

    # --- surveys that `start` opens -----------------------------------------------------------------------------------

    invited: bool = False
    """A new survey takes a report with a single-use invitation only. Source: `sfumato serve --invited`."""
    keep_days: int | None = None
    """Days after its end on which a new survey is deleted; None: never. Source: `sfumato serve --keep-days`."""
    token: bool = True
    """Make a token for an analyst, unless one that reaches all surveys is valid. Source: `sfumato serve --no-token`."""

    # --- where it listens ---------------------------------------------------------------------------------------------

    host: str = "127.0.0.1"
    """The address that it listens at. Source: the threat model; a proxy with TLS stands in front of it."""
    port: int = 0
    """The TCP port; 0: any that is free. Source: `sfumato serve --port`, which has 8000."""
    anywhere: bool = False
    """``host`` may be an address that other machines reach. Source: the threat model."""
    signals: bool = False
    """Ctrl-C and TERM stop it in order, a second Ctrl-C at once; for a program that does nothing else, started on its
    main thread. Source: `sfumato serve`."""
    log: bool = True
    """Print a line of JSON to stderr for what the service does itself: it starts, a survey is deleted, the store fails.
    Source: docs/how-to/run-a-collector.md."""

    # --- requests -----------------------------------------------------------------------------------------------------

    connections: int = 1000
    """Connections at the same time; above, 503. Source: judgement; deploy/sfumato.service permits 4,096 files."""
    header_bytes: int = 1 << 16
    """Bytes of a request that are not its body; above, it is hung up on. Source: tests."""
    idle_seconds: int = 15
    """Seconds that a connection is kept between two requests. Source: deploy/nginx.conf has the same."""
    finish_seconds: int = 10
    """Seconds that requests under way have when the service stops. Source: deploy/sfumato.service allows 30."""
    body_seconds: float = 10.0
    """Seconds that a body may take to arrive; then 408. Source: deploy/nginx.conf has the same."""
    body_bytes: int = 1 << 20
    """Bytes of a body; above, 413. Source: 1,000 reports of the demo's plan take a fifth of it."""
    drained_bodies: int = 16
    """A body of up to this many times ``body_bytes`` is read to its end, so that its sender reads the 413 and does not
    try again; a longer one is hung up on. Source: tests."""
    model_bytes: int = 16 << 20
    """Bytes of a model that an analyst ships. Source: judgement."""
    login_bytes: int = 4096
    """Bytes of the form behind /login. Source: a token has 60."""

    # --- the writer ---------------------------------------------------------------------------------------------------

    waiting_reports: int = 20_000
    """Reports that may wait to be written; above, 503. Source: judgement."""
    commit_reports: int = 5_000
    """Reports from which on a commit takes no further waiting group. Source: judgement."""
    refusal_seconds: float = 1.0
    """Seconds after which refusals are written where no report is. Source: judgement."""

    # --- upkeep -------------------------------------------------------------------------------------------------------

    look_seconds: float = 1.0
    """Seconds between two looks whether a command has changed a survey. Source: docs/how-to/run-a-collector.md."""
    tidy_seconds: float = 600.0
    """Seconds after which a tidying that failed is tried again. Source: judgement."""
    canary_seconds: float = 1.0
    """Seconds for which the answer of /health is given again. Source: one commit a second, whoever asks."""
    complaint_seconds: float = 60.0
    """Seconds between two lines of the log about the same trouble: a line a request would tell when each came, and a
    log that is read slowly would hold up everybody. Source: the threat model."""

    # --- figures for analysts -----------------------------------------------------------------------------------------

    answer_seconds: float = 300.0
    """Seconds that a figure or an export may take. Source: deploy/nginx.conf waits 310."""
    fresh_seconds: float = 2.0
    """Seconds for which a figure is given again without a look at the store. Source: below the dashboard's five."""
    rest: float = 4.0
    """After a figure that took long, as many times as long nothing is computed for the same question. Source:
    judgement; one question then takes a fifth of a core at most."""
    waiting_figures: int = 16
    """Questions that may wait for the process that computes; above, 503. Source: judgement."""
    cached_figures: int = 64
    """Figures that are kept to be given again. Source: judgement."""
    exports: int = 2
    """Exports at the same time, each a process with all reports in memory; above, 503. Source: judgement."""

    # --- jobs ---------------------------------------------------------------------------------------------------------

    job_seconds: float = 3_600.0
    """Seconds that a job may take. Source: judgement."""
    retry_seconds: float = 1.0
    """Seconds between two tries to write a job's state while the store fails. Source: judgement."""
    jobs: int = 100
    """Jobs of a survey that are kept with their results. Source: with ``result_bytes`` a bound on the store."""
    result_bytes: int = 64 << 20
    """Bytes of a job's result. Source: judgement."""
    niceness: int = 19
    """The niceness of processes that compute: reports come first. Source: bench, p99 beside a job."""

    # --- the store ----------------------------------------------------------------------------------------------------

    page_rows: int = 50_000
    """Rows that are read from a table at once. Source: judgement."""
    sqlite_wait_seconds: float = 30.0
    """Seconds that SQLite waits for another process that writes. Source: judgement."""
    sqlite_cache_kib: int = 16_384
    """KiB of SQLite's cache. Source: bench --only memory; a million reports do not show in it."""
    sqlite_insert_rows: int = 256
    """Rows of one INSERT, a power of two: each statement gives way to the event loop. Source: bench."""
    sqlite_log_pages: int = 8_000
    """Pages from which on the log is copied into the file: random keys touch the same pages again. Source: bench."""
    sqlite_log_bytes: int = 1 << 26
    """Bytes to which the log shrinks when it was copied. Source: twice ``sqlite_log_pages`` of 4 KiB."""
    postgresql_connect_seconds: int = 5
    """Seconds until a PostgreSQL that does not answer is given up on. Source: judgement."""
    postgresql_statement_seconds: int = 600
    """Seconds that a statement may take; tidying is one. Source: judgement."""
    postgresql_lock_seconds: int = 30
    """Seconds that a statement waits for a lock. Source: as ``sqlite_wait_seconds``."""


DEFAULTS = Settings()
