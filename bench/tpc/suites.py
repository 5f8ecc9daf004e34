"""The tables of both suites, and how they are laid out in files."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Layout:
    """How a table is written.

    Attributes:
        key: The fields of its record key.
        files: The number of its base files, each with a range of the rows in the table's order.
        order: The column that orders the rows; None: the first key field.
        updated: The column that updates change, an integer or a date; None: the table is a
            dimension, which has no updates.
    """

    key: tuple[str, ...]
    files: int = 1
    order: str | None = None
    updated: str | None = None


@dataclass(frozen=True)
class Suite:
    """A benchmark.

    Attributes:
        name: Its name, which is that of DuckDB's extension.
        generator: The function of that extension that makes the tables.
        tables: The layout of each table, by its name.
        smallest: A table whose scan costs next to nothing, to warm up a session.
    """

    name: str
    generator: str
    tables: Mapping[str, Layout]
    smallest: str


def _fact(prefix: str, second: str, order: str, files: int) -> Layout:
    return Layout((f"{prefix}_item_sk", f"{prefix}_{second}"), files, order, order)


TPCDS = Suite(
    name="tpcds",
    generator="dsdgen",
    tables=MappingProxyType(
        {
            "store_sales": _fact("ss", "ticket_number", "ss_sold_date_sk", 60),
            "catalog_sales": _fact("cs", "order_number", "cs_sold_date_sk", 48),
            "web_sales": _fact("ws", "order_number", "ws_sold_date_sk", 40),
            "store_returns": _fact("sr", "ticket_number", "sr_returned_date_sk", 40),
            "catalog_returns": _fact("cr", "order_number", "cr_returned_date_sk", 40),
            "web_returns": _fact("wr", "order_number", "wr_returned_date_sk", 40),
            "inventory": Layout(
                ("inv_date_sk", "inv_item_sk", "inv_warehouse_sk"),
                files=50,
                order="inv_date_sk",
                updated="inv_quantity_on_hand",
            ),
            "call_center": Layout(("cc_call_center_sk",)),
            "catalog_page": Layout(("cp_catalog_page_sk",), 2),
            "customer": Layout(("c_customer_sk",), 4),
            "customer_address": Layout(("ca_address_sk",), 4),
            "customer_demographics": Layout(("cd_demo_sk",), 4),
            "date_dim": Layout(("d_date_sk",), 4),
            "household_demographics": Layout(("hd_demo_sk",), 2),
            "income_band": Layout(("ib_income_band_sk",)),
            "item": Layout(("i_item_sk",), 2),
            "promotion": Layout(("p_promo_sk",)),
            "reason": Layout(("r_reason_sk",)),
            "ship_mode": Layout(("sm_ship_mode_sk",)),
            "store": Layout(("s_store_sk",)),
            "time_dim": Layout(("t_time_sk",), 2),
            "warehouse": Layout(("w_warehouse_sk",)),
            "web_page": Layout(("wp_web_page_sk",)),
            "web_site": Layout(("web_site_sk",)),
        }
    ),
    smallest="store",
)

TPCH = Suite(
    name="tpch",
    generator="dbgen",
    tables=MappingProxyType(
        {
            "lineitem": Layout(("l_orderkey", "l_linenumber"), 60, "l_shipdate", "l_shipdate"),
            "orders": Layout(("o_orderkey",), 40, "o_orderdate", "o_orderdate"),
            "partsupp": Layout(("ps_partkey", "ps_suppkey"), 8, updated="ps_availqty"),
            "part": Layout(("p_partkey",), 4),
            "customer": Layout(("c_custkey",), 4),
            "supplier": Layout(("s_suppkey",)),
            "nation": Layout(("n_nationkey",)),
            "region": Layout(("r_regionkey",)),
        }
    ),
    smallest="nation",
)

SUITES: Mapping[str, Suite] = MappingProxyType({suite.name: suite for suite in (TPCDS, TPCH)})
"""Both, by name."""
