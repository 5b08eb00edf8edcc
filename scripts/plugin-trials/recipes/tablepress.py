"""TablePress: tables are created with a form and edited with scripts."""

import json
import re

import content
from trial import Skipped


def _save(trial, rows, options=None):
    screen = trial.admin.get(f"/wp-admin/admin.php?page=tablepress&action=edit&table_id={trial.table}")
    if screen.status != 200:
        raise Skipped(f"the editor: {screen.status}")
    data = {
        "_ajax_nonce": trial.nonce(f"tablepress_edit_{trial.table}"), "tablepress[id]": trial.table, "tablepress[new_id]": trial.table,
        "tablepress[name]": "Prices of herbs", "tablepress[description]": "Prices", "tablepress[number][rows]": len(rows),
        "tablepress[number][columns]": len(rows[0]), "tablepress[data]": json.dumps(rows),
        "tablepress[visibility]": json.dumps({"rows": [1] * len(rows), "columns": [1] * len(rows[0])}),
        "tablepress[options]": json.dumps({
            "last_action": "", "table_head": 1, "table_foot": 0, "alternating_row_colors": True, "row_hover": True, "print_name": False,
            "print_name_position": "above", "print_description": False, "print_description_position": "below", "extra_css_classes": "",
            "use_datatables": True, "datatables_sort": True, "datatables_filter": True, "datatables_paginate": True,
            "datatables_lengthchange": True, "datatables_paginate_entries": 10, "datatables_info": True, "datatables_scrollx": False,
            "datatables_custom_commands": "", **(options or {})})}
    return trial.ajax("tablepress_save_table", data)


def pages(trial):
    answer = trial.admin.post("/wp-admin/admin-post.php", {
        "action": "tablepress_add", "_wpnonce": trial.nonce("tablepress_add"), "table[name]": "Herbs", "table[description]": "",
        "table[rows]": "2", "table[columns]": "2"})
    trial.table = re.search(r"table_id=(\w+)", answer.field("location")).group(1)
    _save(trial, [["Herb", "Price"], ["Sage", "2"]])
    content.write_page(trial, "table", f"[table id={trial.table} /]")
    content.write_page(trial, "table-info", f"[table-info id={trial.table} field=name /] [table-info id={trial.table} field=last_modified /]")
    content.write_page(trial, "table-block", f'<!-- wp:tablepress/table {{"id":"{trial.table}"}} /-->')


def change(trial):
    trial.change("cell of a table", lambda: _save(trial, [["Herb", "Price"], ["Sage", "3"]]))
    trial.change("row of a table", lambda: _save(trial, [["Herb", "Price"], ["Sage", "3"], ["Mint", "1"]]))
    trial.change("options of a table", lambda: _save(trial, [["Herb", "Price"], ["Sage", "3"]], {"print_name": True, "row_hover": False}))
    trial.change("plugin options", lambda: trial.admin.post("/wp-admin/admin-post.php", {
        "action": "tablepress_options", "_wpnonce": trial.nonce("tablepress_options"), "options[use_custom_css]": "1",
        "options[custom_css]": ".tablepress td { color: green; }", "options[admin_menu_parent_page]": "middle"}))
    trial.change("deletion of a table", lambda: trial.admin.send(
        "GET", f"/wp-admin/admin-post.php?action=tablepress_delete_table&item={trial.table}&return=list&_wpnonce=" + trial.nonce(f"tablepress_delete_table_{trial.table}")))
