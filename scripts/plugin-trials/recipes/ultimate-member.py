"""Ultimate Member: its pages, created with the link in its notice."""

import html
import re


def prepare(trial):
    link = re.search(r'href="([^"]*um_adm_action=install_core_pages[^"]*)"', trial.admin.get("/wp-admin/").text)
    trial.admin.get(html.unescape(link.group(1)))
