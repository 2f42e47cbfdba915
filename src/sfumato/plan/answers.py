"""Tables of answers and of reports in files, read as the plan means them, and written with the plan that made them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sfumato.domain import Categories, Items, the_value
from sfumato.tables import LEVEL_SUFFIX, PLAN_COLUMN

if TYPE_CHECKING:
    from sfumato.plan.document import Plan


def text_columns(plan: Plan) -> list[str]:
    """Columns of text, which must not be read as numbers: categories that are all text, level names, and the
    hexadecimal digits of baskets."""
    labels = [name for name, each in plan.attributes.items() if _is_text(each.domain)]
    baskets = [name for name, each in plan.attributes.items() if isinstance(each.domain, Items)]
    digits = [prefix + form for form in ("bitmap", "seed") for name in baskets for prefix in ("", f"{name}.")]
    return labels + digits + [name + LEVEL_SUFFIX for name, each in plan.attributes.items() if each.has_levels]


def _is_text(domain: Any) -> bool:
    return isinstance(domain, Categories) and all(isinstance(label, str) for label in domain.labels)


def without_origin(table: Any, plan: Plan | None, reports: bool | None) -> Any:
    """The table without what it says about the plan that made it, which is checked.

    ``reports``: whether it must hold reports, which the plan then must have made if they say by which they were, or
    must not hold any; None: either.
    """
    held = PLAN_COLUMN in table.column_names
    said = (table.schema.metadata or {}).get(PLAN_COLUMN.encode())
    if reports is False and (held or said):
        raise ValueError(f"{PLAN_COLUMN!r} says that these are reports; true answers are needed here")
    if plan is not None and reports:
        plan.check_origin(table.column(PLAN_COLUMN) if held else [said and said.decode()])
    return table.drop_columns([PLAN_COLUMN]) if held else table


def with_origin(table: Any, plan: Plan, extension: str) -> Any:
    """The other way round: the plan in Parquet's metadata, in CSV in a column of its own, and bytes there in hex."""
    import pyarrow as pa

    if extension == ".csv":
        table = pa.table({name: _as_hex(table.column(name)) for name in table.column_names})
        table = table.append_column(PLAN_COLUMN, pa.array([plan.origin] * table.num_rows, pa.string()))
    return table.replace_schema_metadata({PLAN_COLUMN: plan.origin})


def _as_hex(column: Any) -> Any:
    import pyarrow as pa

    if not pa.types.is_binary(column.type) and not pa.types.is_fixed_size_binary(column.type):
        return column
    return pa.array([None if cell is None else cell.hex() for cell in column.to_pylist()], pa.string())


def as_meant(table: Any, plan: Plan, first_row: int = 0) -> Any:
    """Columns of a CSV as the plan's domains have them, where some field made them texts or NaN; it is named."""
    for name, attribute in plan.columns.items():
        if name in table.column_names and not isinstance(attribute.domain, Items):
            column = table.column(name)
            if isinstance(attribute.domain, Categories):
                column = _as_labels(column, attribute.domain)
            else:
                column = _as_numbers(column, name, first_row)
            table = table.set_column(table.column_names.index(name), name, column)
    return table


def _as_numbers(column: Any, name: str, first_row: int) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _holds_text(column):
        if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
            _refuse_field("nan", first_row + pc.index(pc.is_nan(column), True).as_py(), name)
        return column
    numbers = []
    for row, field in enumerate(column.to_pylist(), first_row):
        numbers.append(None if field is None else _number(field))
        if field is not None and numbers[-1] is None:
            _refuse_field(field, row, name)
    return pa.chunked_array([pa.array(numbers, pa.float64())])


def _refuse_field(field: str, row: int, name: str) -> None:
    raise ValueError(
        f"row {row + 1:,}, column {name!r}: {the_value(field)} is not a number; correct it, or leave the field empty "
        "where the answer is missing"
    )


def _number(field: str) -> float | None:
    try:
        number = float(field)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _as_labels(column: Any, domain: Categories) -> Any:
    """Labels that are no texts, where some other field made the whole column texts."""
    import pyarrow as pa

    if not _holds_text(column) or any(isinstance(label, str) for label in domain.labels):
        return column
    label_of = {field: _label(field, domain) for field in column.unique().to_pylist()}
    if any(found is None and field is not None for field, found in label_of.items()):
        return column  # whoever encodes it names the row
    return pa.chunked_array([pa.array([label_of[field] for field in column.to_pylist()])])


def _label(field: str | None, domain: Categories) -> Any:
    number = None if field is None else _number(field)
    return next((label for label in domain.labels if field == str(label) or number == label), None)


def _holds_text(column: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))
