"""Pipelines statements over one connection to PostgreSQL.

A round trip costs more than most statements do, and the layers of SQLAlchemy and the driver cost
more than both. So a statement is prepared once per connection and then queued here until a caller
reads a result or the transaction ends. All queued statements are then sent in one packet, in order.
"""

from __future__ import annotations

import itertools
import re
import select
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from nanobot.store.database.prepared import Prepared, Values
from nanobot.store.database.results import PreparedResult, row_maker

if TYPE_CHECKING:
    import psycopg
    from psycopg.pq.abc import PGconn, PGresult

_numbers = itertools.count()
_NAME = re.compile(r"%\((\w+)\)s|%%")
_BINARY = 1
_IDLE, _OK = 0, 0  # of a transaction, of a connection
_FINE = (1, 2)
_MOST_TOGETHER = 8


class NumberedStatement:
    """A statement with numbered parameters, as PostgreSQL expects them."""

    __slots__ = ("_fixed", "_order", "name", "reads", "row", "sql")

    def __init__(
        self,
        statement: sa.Executable,
        dialect: sa.Dialect,
        names: Sequence[str],
        *,
        must_change: bool = False,
    ) -> None:
        compiled = statement.compile(  # type: ignore[attr-defined]
            dialect=dialect, column_keys=list(names)
        )
        order: dict[str, int] = {}

        def numbered(match: re.Match[str]) -> str:
            name = match[1]
            return "%" if name is None else f"${order.setdefault(name, len(order) + 1)}"

        sql = _NAME.sub(numbered, str(compiled))
        selects = isinstance(statement, sa.Select | sa.CompoundSelect)
        if must_change:  # divides by zero if no row changed: so nobody has to read a count
            rows = sql if selects else f"{sql} RETURNING 1"
            sql = f"WITH changed AS ({rows}) SELECT 1 / count(*) FROM changed"  # noqa: S608 - ours
        self.sql = sql.encode()
        self.reads = selects and not must_change and statement._for_update_arg is None  # type: ignore[attr-defined]  # noqa: SLF001
        """It takes a lock and changes nothing, so it needs no transaction: as the only statement it
        sees the same state without one.
        """
        self.name = b"nanobot_%d" % next(_numbers)
        self.row: Callable[[Sequence[Any]], Any] | None = None
        self._order = list(order)
        self._fixed = {name: bind.value for name, bind in compiled.binds.items()}

    def values(self, parameters: Mapping[str, Any]) -> tuple[list[bytes | None], list[int]]:
        """The parameters as they are sent, each with its format."""
        fixed = self._fixed
        dumped = [
            _dumped(parameters[name] if name in parameters else fixed[name]) for name in self._order
        ]
        return [value for value, _ in dumped], [form for _, form in dumped]


def _dumped(value: Any) -> tuple[bytes | None, int]:
    if value is None:
        return None, 0
    if isinstance(value, str):
        # PostgreSQL's text cannot contain zero bytes. The log stores bytes and keeps the original.
        return str.encode(value.replace("\0", "")), 0
    if isinstance(value, bool):
        return (b"t" if value else b"f"), 0
    if isinstance(value, bytes):
        return value, _BINARY
    if isinstance(value, int | float):
        return repr(value).encode(), 0
    raise TypeError(f"a parameter of type {type(value).__name__}")


class PipelinedResult(PreparedResult):
    """A pending result. Reading it sends all queued statements first."""

    __slots__ = ("_pipeline",)

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def __getattr__(self, name: str) -> Any:  # of slots that are still empty
        self._pipeline.flush()
        return object.__getattribute__(self, name)

    def fill(self, rows: list[Any], rowcount: int) -> None:
        self._rows = rows
        self.rowcount = rowcount


class _Waiting(NamedTuple):
    statement: NumberedStatement
    values: list[bytes | None]
    formats: list[int]
    result: PipelinedResult
    refusal: Exception | None


def _lost() -> Exception:
    from psycopg import OperationalError  # noqa: PLC0415

    return OperationalError("the connection to the server was lost")


class _Kept(NamedTuple):
    """What is kept with a prepared statement: it for one row, and its inserts for several."""

    numbered: NumberedStatement
    inserts: dict[int, Prepared]


class Pipeline:
    """The pipeline of one connection, which only one thread uses at a time. A transaction begins
    with the first statement. Errors are raised as SQLAlchemy's, by the call that sends the
    statements.
    """

    def __init__(self, connection: psycopg.Connection[Any], dialect: sa.Dialect) -> None:
        import psycopg  # noqa: PLC0415 - comes with an extra
        from psycopg.adapt import Transformer  # noqa: PLC0415

        self.committing = False
        """The commit was sent, so the server may have executed the whole transaction."""
        self._ending = self.ended = False
        self._connection = connection
        self._dialect = dialect
        self._error = psycopg.Error
        connection.prepare_threshold = None  # it would deallocate all prepared statements, ours too
        self._pgconn: PGconn = connection.pgconn
        self._rows = Transformer(connection)
        self._poll = select.poll()
        self._poll.register(connection.fileno(), select.POLLIN)
        self._prepared: set[bytes] = set()
        self._waiting: list[_Waiting] = []

    def execute(
        self, prepared: Prepared, values: Values, refusal: Exception | None = None
    ) -> PreparedResult:
        """Queue a statement; see `add`."""
        kept = self._kept(prepared, list(values), must_change=refusal is not None)
        return self.add(kept.numbered, values, refusal)

    def _kept(self, prepared: Prepared, names: Sequence[str], *, must_change: bool) -> _Kept:
        if prepared.queued is None:
            statement, dialect = prepared.statement, self._dialect
            numbered = NumberedStatement(statement, dialect, names, must_change=must_change)
            prepared.queued = _Kept(numbered, {})
        kept: _Kept = prepared.queued
        return kept

    def many(self, prepared: Prepared, rows: Sequence[Values]) -> None:
        """Queue a statement once per set of parameters; few rows are inserted by one."""
        if isinstance(prepared.statement, sa.Insert) and 1 < len(rows) <= _MOST_TOGETHER:
            self._insert_together(prepared, prepared.statement.table, rows)
            return
        for row in rows:
            self.execute(prepared, row)

    def _insert_together(
        self, prepared: Prepared, table: sa.TableClause, rows: Sequence[Values]
    ) -> None:
        """Insert all rows in one statement. There is a prepared statement for each number of
        rows."""
        kept = self._kept(prepared, list(rows[0]), must_change=False)
        insert = kept.inserts.get(len(rows))
        if insert is None:
            columns = [
                {name: sa.bindparam(f"{name}_{number}", type_=table.c[name].type) for name in row}
                for number, row in enumerate(rows)
            ]
            insert = kept.inserts[len(rows)] = Prepared(sa.insert(table).values(columns).inline())
        values = {f"{name}_{n}": value for n, row in enumerate(rows) for name, value in row.items()}
        self.execute(insert, values)

    def add(
        self,
        statement: NumberedStatement,
        values: Mapping[str, Any],
        refusal: Exception | None = None,
    ) -> PreparedResult:
        """Queue a statement; its result is filled in when it arrives. `refusal` is raised if the
        statement must change a row and does not.
        """
        if not statement.reads:
            self.check_open()
        result = PipelinedResult(self)
        self._waiting.append(_Waiting(statement, *statement.values(values), result, refusal))
        return result

    def check_open(self) -> None:
        """Refuses changes after the declared end: the caller that declared it was wrong."""
        if self.ended:
            raise RuntimeError("nothing was to follow in this transaction")

    def end(self) -> None:
        """Declare that no changes follow: the transaction ends with the queued statements."""
        self._ending = True

    def begin(self) -> bool:
        """Drop the queue, for another transaction. Returns False if the connection has closed."""
        self._waiting.clear()
        self.committing = self._ending = self.ended = False
        try:
            while self._poll.poll(0):
                self._pgconn.consume_input()
        except self._error:
            return False
        return self._pgconn.status == _OK and self._pgconn.transaction_status == _IDLE

    def flush(self) -> None:
        """Send the queued statements and read all their results."""
        if self._waiting:
            self._send(end=self._ending)

    def commit(self) -> None:
        """Send the queued statements and commit. Does nothing if no transaction has begun."""
        if self._waiting or self._pgconn.transaction_status != _IDLE:
            self._send(end=True)

    def roll_back(self) -> None:
        """Roll the transaction back. Does nothing if none has begun. The connection may be closed
        afterwards.
        """
        self._waiting.clear()
        try:
            if self._pgconn.pipeline_status:  # an error came in between
                self._connection.close()
            self._connection.rollback()
        except self._error:
            self._connection.close()

    def _send(self, *, end: bool) -> None:
        waiting, self._waiting = self._waiting, []
        try:
            self._pgconn.enter_pipeline_mode()
            self._receive(self._sent(waiting, end=end))
        except self._error as error:
            sql = waiting[-1].statement.sql.decode() if waiting else "COMMIT"
            raise DBAPIError(sql, None, error) from error
        self.ended = end

    def _sent(self, waiting: Sequence[_Waiting], *, end: bool) -> list[_Waiting | bytes]:
        """The results to expect: those of statements, the names of statements that are being
        prepared, and (empty) those of the commands that frame the transaction.
        """
        pgconn = self._pgconn
        expected: list[_Waiting | bytes] = []
        begun = pgconn.transaction_status != _IDLE
        if not begun and not all(request.statement.reads for request in waiting):
            pgconn.send_query_params(b"BEGIN", None)
            expected.append(b"")
            begun = True
        prepared: set[bytes] = set()
        for request in waiting:
            name = request.statement.name
            if name not in self._prepared and name not in prepared:
                prepared.add(name)
                pgconn.send_prepare(name, request.statement.sql)
                expected.append(name)
            pgconn.send_query_prepared(name, request.values, request.formats, _BINARY)
            expected.append(request)
        if end and begun:
            self.committing = True
            pgconn.send_query_params(b"COMMIT", None)
            expected.append(b"")
        pgconn.pipeline_sync()
        while pgconn.flush():
            self._wait(select.POLLIN | select.POLLOUT)
        return expected

    def _receive(self, expected: Sequence[_Waiting | bytes]) -> None:
        failed: PGresult | None = None
        refusal: Exception | None = None
        for item in expected:
            result = self._next()
            if result is None:
                raise _lost()
            self._next()  # an empty result follows each
            if failed is None and result.status not in _FINE:
                failed, refusal = result, item.refusal if isinstance(item, _Waiting) else None
            elif failed is None and isinstance(item, bytes):
                self._prepared.add(item)
            elif failed is None and isinstance(item, _Waiting):
                item.result.fill(self._loaded(item.statement, result), result.command_tuples or 0)
        self._next()  # everything sent is complete
        self._pgconn.exit_pipeline_mode()
        if failed is not None:
            from psycopg.errors import DivisionByZero, error_from_result  # noqa: PLC0415

            error = error_from_result(failed)
            raise refusal if refusal and isinstance(error, DivisionByZero) else error

    def _next(self) -> PGresult | None:
        pgconn = self._pgconn
        while pgconn.is_busy():
            self._poll.poll()
            pgconn.consume_input()
        return pgconn.get_result()

    def _wait(self, events: int) -> None:
        self._poll.modify(self._connection.fileno(), events)
        self._poll.poll()
        self._poll.modify(self._connection.fileno(), select.POLLIN)
        self._pgconn.consume_input()

    def _loaded(self, statement: NumberedStatement, result: PGresult) -> list[Any]:
        if not result.nfields or not result.ntuples:
            return []
        if statement.row is None:
            names = [(result.fname(i) or b"").decode() for i in range(result.nfields)]
            statement.row = row_maker(names)
        self._rows.set_pgresult(result)
        return self._rows.load_rows(0, result.ntuples, statement.row)
