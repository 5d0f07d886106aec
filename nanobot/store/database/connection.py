"""What the functions of a transaction execute their statements with."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import sqlalchemy as sa

Rows: TypeAlias = sa.CursorResult[*tuple[Any, ...]]


class Connection(Protocol):
    """The part of SQLAlchemy's connection that the store uses, which a Unit has as well."""

    @property
    def dialect(self) -> sa.Dialect:
        """Of the database that it is connected with."""

    @property
    def info(self) -> dict[Any, Any]:
        """Kept with the driver's connection."""

    @property
    def connection(self) -> sa.PoolProxiedConnection:
        """The driver's connection."""

    def execute(self, statement: sa.Executable, parameters: Any = None) -> Rows:
        """Execute a statement once, or once per set of parameters."""

    def scalar(self, statement: sa.Executable, parameters: Any = None) -> Any:
        """The first column of the first row, or None."""

    def scalars(self, statement: sa.Executable, parameters: Any = None) -> sa.ScalarResult[Any]:
        """The first column of all rows."""

    def exec_driver_sql(self, statement: str, parameters: Any = None) -> Rows:
        """Execute SQL of the driver."""
