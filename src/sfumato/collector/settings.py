"""The settings of a collector: every number that an operator may want to change, with its unit and its source.

Sources: *bench* is `bench/collector.py`, for load or with `--only memory`; *deploy* is an example in `deploy/`;
*judgement* was measured nowhere, and what a larger or a smaller number does stands beside it. What devices rely on is
no setting: the forms of requests stand in `http/messages.py`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The settings of one collector, all with defaults; each field says what it does, in which unit, and its source.

    >>> Settings(port=8080, job_seconds=600).job_seconds
    600
    """

    # --- surveys that `start` opens -----------------------------------------------------------------------------------

    invited: bool = False
    """Whether a new survey takes a report with a single-use invitation only. Source: `sfumato serve --invited`."""
    keep_days: int | None = None
    """Days after its end on which a new survey is deleted; None: never. Source: `sfumato serve --keep-days`."""
    token: bool = True
    """Whether to make a token for an analyst if none that reaches all surveys is valid. Source: `sfumato serve
    --no-token`."""

    # --- where it listens ---------------------------------------------------------------------------------------------

    host: str = "127.0.0.1"
    """The address of this machine to listen at. Source: docs/threat-model.md; a proxy with TLS stands in front."""
    port: int = 0
    """The TCP port to listen at; 0: any that is free. Source: `sfumato serve --port`, whose default is 8000."""
    anywhere: bool = False
    """Whether ``host`` may be an address that other machines reach. Source: docs/threat-model.md."""
    signals: bool = False
    """Whether Ctrl-C and TERM stop the collector in order, and a second Ctrl-C at once; for a program that does nothing
    else, started on its main thread. Source: `sfumato serve`."""
    log: bool = True
    """Whether to print a line of JSON to stderr for what the service does itself: it starts, a survey is deleted, the
    store fails. Source: docs/how-to/run-a-collector.md."""

    # --- requests -----------------------------------------------------------------------------------------------------

    connections: int = 1000
    """Connections at the same time; above, 503. Source: judgement, below the 4,096 open files that
    deploy/sfumato.service permits. Each may hold ``body_bytes`` in memory: more need more memory, fewer refuse more."""
    header_bytes: int = 1 << 16
    """Bytes of a request that are not its body; above, the connection is closed. Source: judgement, twice the four
    buffers of 8 KiB that deploy/nginx.conf lets through. More cost memory for each connection; fewer than the proxy
    passes on would refuse requests that are in order."""
    idle_seconds: int = 15
    """Seconds that a connection is kept open between two requests. Source: deploy/nginx.conf has the same."""
    finish_seconds: int = 10
    """Seconds that requests under way have left when the service stops. Source: deploy/sfumato.service allows 30 until
    the process is killed."""
    body_seconds: float = 10.0
    """Seconds that a body may take to arrive; then 408. Source: deploy/nginx.conf has the same."""
    body_bytes: int = 1 << 20
    """Bytes of a body; above, 413. Source: 1,000 reports, the most in one request, of the demo's plan take a fifth of
    it; deploy/nginx.conf has the same."""
    drained_bodies: int = 16
    """A body of up to this many times its limit is read to its end, so that its sender reads the 413 and does not try
    again; for a longer one the connection is closed. Source: judgement. More reads more for nothing; with less, more
    senders see a broken connection and send again."""
    model_bytes: int = 16 << 20
    """Bytes of a model that an analyst ships to devices. Source: judgement; deploy/nginx.conf has the same. Every
    device loads the model: more lets larger models through, less refuses them."""
    login_bytes: int = 4096
    """Bytes of the form that is sent to /login. Source: a token has 60 letters and a survey's name up to 64."""

    # --- the writer ---------------------------------------------------------------------------------------------------

    waiting_reports: int = 20_000
    """Reports that may wait to be written; above, 503. Source: judgement, four full commits. More wait longer in more
    memory; with fewer, devices are told to come back sooner."""
    commit_reports: int = 5_000
    """Reports of a commit from which on it takes no further waiting group. Source: judgement. More make a commit, and
    with it the wait for an answer, longer; fewer make more commits."""
    refusal_seconds: float = 1.0
    """Seconds after which refusals are written to the store if no report is. Source: judgement. A kill loses the counts
    of this long; less writes more often when nothing but refusals comes."""

    # --- upkeep -------------------------------------------------------------------------------------------------------

    look_seconds: float = 1.0
    """Seconds between two looks whether a command has changed a survey. Source: docs/how-to/run-a-collector.md promises
    that a service notices within a second."""
    tidy_seconds: float = 600.0
    """Seconds after which a tidying that failed is tried again. Source: judgement. Tidying writes the store anew: less
    loads the disk more often, more leaves the order of arrival in the files for longer."""
    canary_seconds: float = 1.0
    """Seconds for which /health repeats its last answer. Source: judgement: one commit a second, however often it is
    asked. More notices a fault later, less lets anybody cause more commits."""
    complaint_seconds: float = 60.0
    """Seconds between two lines of the log about the same trouble. Source: docs/threat-model.md: a line for each failed
    request would tell when each came. Judgement: more tells less and hides trouble for longer."""

    # --- figures for analysts -----------------------------------------------------------------------------------------

    answer_seconds: float = 300.0
    """Seconds that a figure or an export may take. Source: deploy/nginx.conf waits 310."""
    fresh_seconds: float = 2.0
    """Seconds for which a figure is answered again without a look at the store. Source: less than the five seconds
    after which http/static/dashboard.js asks again. More shows older figures, less looks more often."""
    pause_factor: float = 4.0
    """How many times as long as its computation took a figure is answered again without a new computation. Source:
    judgement. With 4, one question takes a fifth of a core at most; more shows older figures, less takes more of it."""
    waiting_figures: int = 16
    """Questions that may wait for the process that computes; above, 503. Source: judgement. They are answered one by
    one: with more the last waits longer, with fewer more analysts have to ask again."""
    cached_figures: int = 64
    """Figures that are kept in memory to be answered again. Source: judgement. More take memory; with fewer, questions
    that are asked in turn are computed again."""
    exports: int = 2
    """Exports at the same time, each a process with all reports in memory; above, 503. Source: judgement. More take
    that memory more often, fewer let analysts wait."""

    # --- jobs ---------------------------------------------------------------------------------------------------------

    job_seconds: float = 3_600.0
    """Seconds that a job may take; then it is ended. Source: judgement. More lets one job hold up the others for
    longer, less ends long jobs before they are done."""
    retry_seconds: float = 1.0
    """Seconds between two tries to write a job's state while the store fails. Source: judgement. More delays the job
    after the store is back, less asks a failing store more often."""
    jobs: int = 100
    """Jobs of a survey that are kept with their results; above, 422 until one is deleted. Source: judgement. With
    ``result_bytes`` it bounds what jobs take in the store: 6.25 GiB."""
    result_bytes: int = 64 << 20
    """Bytes of a job's result; a longer one fails the job. Source: judgement. More fills the store faster, less refuses
    long lists of itemsets."""
    niceness: int = 19
    """The niceness of processes that compute: the operating system serves reports first. Source: Unix has no larger
    one; bench, p99 beside a training job."""

    # --- the store ----------------------------------------------------------------------------------------------------

    page_rows: int = 50_000
    """Rows that are read from a table at once. Source: judgement. More hold more in memory and the database for longer;
    fewer make more statements."""
    sqlite_wait_seconds: float = 30.0
    """Seconds that SQLite waits for another process that writes. Source: judgement. Less makes commands fail beside a
    tidying of a large store, more hides a process that hangs."""
    sqlite_cache_kib: int = 16_384
    """KiB of memory for SQLite's cache of pages. Source: bench --only memory; a million reports do not show in it."""
    sqlite_insert_rows: int = 256
    """Rows of one INSERT, a power of two. Source: bench: each statement hands the interpreter to the event loop, so
    that fewer and larger statements commit sooner; 256 rows have 768 values, and SQLite takes 999 in every version."""
    sqlite_log_pages: int = 8_000
    """Pages of the write-ahead log from which on it is copied into the file. Source: bench: random keys touch the same
    pages again, and a longer log copies each of them once."""
    sqlite_log_bytes: int = 1 << 26
    """Bytes to which the log's file shrinks after it was copied. Source: twice ``sqlite_log_pages`` of 4 KiB."""
    postgresql_connect_seconds: int = 5
    """Seconds until a PostgreSQL that does not answer is given up on. Source: judgement. More lets devices wait longer
    for their 503, less gives up on a slow network."""
    postgresql_statement_seconds: int = 600
    """Seconds that a statement of PostgreSQL may take. Source: judgement: tidying a large table is one statement. Less
    would end it, more lets a statement that hangs hold its locks for longer."""
    postgresql_lock_seconds: int = 30
    """Seconds that a statement of PostgreSQL waits for a lock. Source: as ``sqlite_wait_seconds``."""


DEFAULTS = Settings()
"""The settings with every default."""
