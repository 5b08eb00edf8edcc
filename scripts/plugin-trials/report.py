"""Reports of trials: lines for the terminal, JSON and a Markdown table."""

import collections
import json
import re



SEARCH_FOR_UPDATES = re.compile(r"wp_(?:version_check|update_plugins|update_themes)\(\)|plugins_api|translations_api")


def cache_reason(answer):
    """Returns a short reason why a response is not from the cache."""
    detail = re.search(r'detail="?([^";,]+)', answer.field("cache-status"))
    forward = re.search(r"fwd=([\w-]+)", answer.field("cache-status"))
    parts = [answer.field("x-cache") or "not stored", detail.group(1) if detail else forward.group(1) if forward else ""]
    if answer.status != 200:
        parts.insert(0, str(answer.status))
    fields = [f"{name}: {answer.field(name)}" for name in ("cache-control", "vary") if answer.field(name)]
    return ", ".join(part for part in [*parts, *fields] if part)


def page_rows(trial):
    """Returns the data of all pages after they were requested twice."""
    rows = []
    for page in trial.pages.values():
        is_stored = page.answer.field("x-cache") == "HIT"
        rows.append({"url": page.url, "page": page.label, "status": page.answer.status, "cached": is_stored,
                     "why": "" if is_stored else cache_reason(page.answer), "cookies": page.first.get("cookies", [])})
    return rows


def log_text(line):
    """Returns the message of a line of PHP's error log; an empty string for other lines."""
    return re.sub(r"^\[[^]]*\]\s*", "", line)[:400] if line.startswith("[") and "PHP " in line else ""


def error_counts(trial):
    """Returns the kinds of lines in PHP's error log with their numbers: those of Myriad's plugin, and others.

    Lines that WordPress also logs before the plugin is active are omitted, and failed searches for updates.
    """
    own, others = collections.Counter(), collections.Counter()
    before = {log_text(line) for line in trial.site.log_lines()[: trial.log_before]}
    for line in trial.site.log_lines()[trial.log_before :]:
        text = log_text(line)
        if text and text not in before and not SEARCH_FOR_UPDATES.search(text):
            (own if re.search(r"myriad", text.replace(str(trial.site.folder), ""), re.I) else others)[text] += 1
    return dict(own), dict(others)


def of_trial(trial, version, seconds):
    """Returns the report of a trial as data for JSON."""
    own, others = error_counts(trial)
    made = [change for change in trial.changes if not change["result"].startswith(("skipped", "failed"))]
    return {
        "plugin": trial.name, "version": version, "wordpress": trial.after.get("version", ""), "seconds": round(seconds, 1),
        "pages": trial.rows, "for_readers": trial.for_readers, "reader_reasons": dict(trial.reader_reasons), "changes": trial.changes, "tried": len(made), "visible": sum(bool(change["visible"]) for change in made),
        "stale": trial.stale, "private": trial.private, "errors": trial.errors, "notes": trial.notes,
        "log_of_myriad": own, "log": others, "log_before": sorted({log_text(line) for line in trial.site.log_lines()[: trial.log_before]} - {""}),
    }


def is_failed(report):
    """Returns True if a trial failed, or found a stale or private page, an error of a page, or an error of Myriad's plugin in the log."""
    return bool(report.get("failure") or report["stale"] or report["private"] or report["errors"] or report["log_of_myriad"])


def line(report):
    """Returns one line for the terminal."""
    if report.get("failure"):
        return f"{report['plugin']}: FAILED {report['failure'][:300]}"
    cached = sum(row["cached"] for row in report["pages"])
    text = (f"{report['plugin']} {report['version']}: {len(report['pages'])} pages, {cached} cached ({report['for_readers']} for readers), {report['tried']} changes "
            f"({report['visible']} visible), {len(report['stale'])} STALE, {len(report['private'])} PRIVATE, "
            f"{len(report['errors'])} errors, {len(report['log'])}+{len(report['log_of_myriad'])} kinds in the log, {report['seconds']} s")
    return text


def details(report):
    """Returns the findings of a report as indented lines."""
    lines = []
    for found in report["stale"]:
        lines.append(f"    STALE {found['change']}: {found['url']} ({found['cache']}{'' if found['remains'] else ', right at the second request'})")
        lines += [f"        PHP:    {found['php']}", f"        Myriad: {found['myriad']}"]
    groups = collections.defaultdict(list)
    for found in report["private"]:
        groups[found["kind"], found["php"], found["myriad"]].append(f"{found['url']} ({found['cache']})")
    for (kind, php, myriad), urls in groups.items():
        lines += [f"    PRIVATE {kind}: {len(urls)} pages: {', '.join(urls[:3])}", f"        PHP:    {php}", f"        Myriad: {myriad}"]
    errors = collections.defaultdict(list)
    for found in report["errors"]:
        errors[re.sub(r"\[[^]]*\]\s*", "", found["error"])].append(f"{found['change']}: {found['url']} {found['status']}")
    lines += [f"    ERROR {len(places)} times, first {places[0]}: {error}" for error, places in errors.items()]
    lines += [f"    LOG {text} ({count} times)" for text, count in report["log_of_myriad"].items()]
    return lines


def _reasons(report):
    count = collections.Counter(row["why"] for row in report["pages"] if not row["cached"])
    return "; ".join(f"{number}: {why}".replace("|", "/") for why, number in count.most_common(4))


def table(reports):
    """Returns the reports as a Markdown table."""
    lines = ["| plugin | version | pages | cached | for readers | not cached, and why | changes | visible | stale | private | PHP errors, of Myriad |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    for report in sorted(reports, key=lambda report: report["plugin"]):
        if report.get("failure"):
            lines.append(f"| {report['plugin']} | {report['version']} | not tried: {report['failure'][:120]} |||||||| ".rstrip())
            continue
        cached = sum(row["cached"] for row in report["pages"])
        cells = [report["plugin"], report["version"], len(report["pages"]), cached, report["for_readers"], _reasons(report), report["tried"], report["visible"],
                 len(report["stale"]), len(report["private"]), f"{len(report['log'])}, {len(report['log_of_myriad'])}"]
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def write_json(path, reports):
    """Writes all reports to a file."""
    path.write_text(json.dumps(sorted(reports, key=lambda report: report["plugin"]), indent=1, ensure_ascii=False))
