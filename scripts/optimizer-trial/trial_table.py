"""Writes the results of scripts/try-optimizer as Markdown."""

FIGURES = (("requests", "requests"), ("blocking", "blocking"), ("bytes", "KB"))


def _figure(row, name):
    values = [row[side][name] for side in ("original", "optimized")]
    return " → ".join(str(round(value / 1000)) if name == "bytes" else str(value) for value in values)


def differing(results):
    """Returns the results of a theme with differences."""
    return [row for row in results.get("rows", ()) if row.get("differences")]


def summary(results):
    """Returns one line for a theme."""
    if results.get("failure"):
        return f"| {results['theme']} | {results.get('version', '')} | failed: {results['failure'][:200]} | | | | | |"
    rows = [row for row in results["rows"] if "original" in row]
    sums = [" → ".join(str(round(sum(row[side][name] for row in rows) / len(rows) / (1000 if name == "bytes" else 1), 1)) for side in ("original", "optimized")) if rows else ""
            for name, _ in FIGURES]
    return f"| {results['theme']} | {results['version']} | {len(rows)} of {len(results['rows'])} | {len(differing(results))} | {len([row for row in rows if row['unstable']])} | {' | '.join(sums)} |"


def differences(every):
    """Returns a list of all differences, and of the pages that were not compared."""
    text = []
    for results in every:
        places = {}
        for row in differing(results):
            for kind, found in row["differences"].items():
                for one in found:
                    places.setdefault((kind, one), []).append(f"{row['page']} {row['width']}")
        text += [f"- {results['theme']}, {kind}: `{one}` ({', '.join(pages)})" for (kind, one), pages in places.items()]
        reasons = {(row["page"], row["reason"]) for row in results.get("rows", ()) if "reason" in row}
        text += [f"- {results['theme']}, {page}, not compared: {reason}" for page, reason in sorted(reasons)]
    return "\n".join(text or ["no difference"])


def markdown(every):
    """Returns a table of all themes, the differences, and a table of all pages."""
    text = ["| theme | version | compared | different | unstable | requests (mean) | blocking | KB |", "|---|---|---|---|---|---|---|---|", *map(summary, every)]
    text += ["", "## Differences", "", differences(every)]
    text += ["", "## Pages", "", "| theme | page | width | pixels | DOM | rules | console | requests | blocking | KB |", "|---|---|---|---|---|---|---|---|---|---|"]
    for results in every:
        for row in results.get("rows", ()):
            if "original" not in row:
                continue
            kinds = " | ".join("different" if kind in row["differences"] else "unstable" if kind in row["unstable"] else "equal" for kind in ("pixels", "dom", "rules", "console"))
            text.append(f"| {results['theme']} | {row['page']} | {row['width']} | {kinds} | {' | '.join(_figure(row, name) for name, _ in FIGURES)} |")
    return "\n".join(text) + "\n"
