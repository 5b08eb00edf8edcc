"""Writes the table of a run: text, bench/REPORT.md and an SVG chart."""

import datetime
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

from rows import judge
from servers import HERE, MYRIAD, SEARCH_PATH, myriad_binary, Unavailable

COLUMNS = ["myriad", "myriad-before", "myriad-bare", "myriad-bare-before", "myriad-headers", "myriad-logged", "nginx-recipe", "nginx-best", "varnish", "floor"]
COLOURS = {"myriad": "#0b7a75", "myriad-before": "#3b928d", "myriad-bare": "#5bb5a2", "myriad-bare-before": "#9bd0c4", "myriad-headers": "#7cc3b3", "myriad-logged": "#6ab0a0", "nginx-recipe": "#8a8f98", "nginx-best": "#b9bdc4",
           "varnish": "#c98b4b", "floor": "#e2e4e8"}
LEGEND = {
    "myriad": "Myriad with `presets/wordpress.conf`, including all rules",
    "myriad-before": "the same of an earlier commit (`--before`)",
    "myriad-bare": "Myriad, one location with `fastcgi_cache` (`conf/bare.conf`)",
    "myriad-headers": "the same with twenty `more_set_headers`",
    "myriad-logged": "the same with an access log in the format `combined`",
    "myriad-bare-before": "the same of an earlier commit (`--before`)",
    "nginx-recipe": "nginx with a usual recipe (`conf/recipe.conf`)",
    "nginx-best": "nginx that stores pages compressed by the upstream (`conf/best.conf`)",
    "varnish": "Varnish with nginx and php-fpm as the upstream (`conf/varnish.vcl`)",
    "floor": "a loop that writes the same bytes without parsing HTTP (`floor/`); for handshakes rustls on a socket (`tls/`), over HTTP/3 quinn and h3 (`quic/`)",
}


# Sections that other programs than bench.py write, in this order.
KEPT = ("\n## The page cache\n", "\n## The published runs, repeated\n", "\n## Forwarding to two upstreams: Myriad, nginx and HAProxy\n",
        "\n## Protecting PHP: a flood of URLs, and a slow PHP\n", "\n## The object cache of WordPress\n", "\n## A machine with 2 GB\n")


def columns(results):
    """Returns the servers with a result in any row."""
    return [name for name in COLUMNS if any(name in figures for figures in results.values())]


def write(results, notes, options, rows, partial):
    """Returns the report as text. A run of all rows and servers replaces bench/REPORT.md; others are written to bench/out/."""
    measured = [row for row in rows if results.get(row.name)]
    sections = [cpu_table(measured, results), busy_table(measured, results), other_tables(measured, results), targets(measured, results), remarks(notes)]
    text = "\n\n".join(section for section in sections if section)
    folder = HERE / "out" if partial else HERE
    (folder / "chart.svg").write_text(chart(measured, results))
    legend = "\n".join(f"- **{name}**: {words}" for name, words in LEGEND.items() if name in columns(results))
    target = folder / "REPORT.md"
    kept = kept_sections(target)
    target.write_text(f"# Bench\n\n{machine(options)}\n\n{legend}\n\n![CPU time per request](chart.svg)\n\n{text}\n{kept}")
    return text + f"\n\nwritten to {os.path.relpath(target)}"


def kept_sections(path):
    """Returns the sections that other commands wrote earlier (`make bench-cache`, `make bench-recipes` and so on); they are preserved."""
    text = path.read_text() if path.exists() else ""
    return "".join(section(text, heading) for heading in KEPT)


def section(text, heading):
    """Returns a section with its heading, up to the next heading of this level, or an empty text."""
    found = re.search(re.escape(heading) + r".*?(?=\n## |\Z)", text, re.S)
    return found.group() if found else ""


def without_section(text, heading):
    found = section(text, heading)
    return text.replace(found, "") if found else text


def add_section(heading, text):
    """Replaces a section of REPORT.md; it becomes the last one."""
    path = HERE / "REPORT.md"
    earlier = without_section(path.read_text(), heading)
    path.write_text(f"{earlier.rstrip()}\n{heading}\n{text}\n")


def first_line(*command):
    command = (shutil.which(command[0], path=SEARCH_PATH) or command[0], *command[1:])
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return f"{pathlib.Path(command[0]).name}: none"
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0].strip() if lines else ""


def machine(options):
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    try:
        own = first_line(str(myriad_binary()), "-V")
    except Unavailable:
        own = "myriad: not built"
    facts = [
        f"{datetime.date.today().isoformat()}, {model.group(1) if model else platform.machine()}, {os.cpu_count()} cores, "
        f"Linux {platform.release()}",
        f"Command: `MYRIAD={os.path.relpath(MYRIAD)} {' '.join([os.path.relpath(sys.argv[0]), *sys.argv[1:]])}`",
        "; ".join([own, first_line("nginx", "-v"), first_line("varnishd", "-V"), first_line("wrk", "-v").split(" Copyright")[0],
                   first_line("php", "-v").split(" (cli")[0], first_line("mariadbd", "--version").split("Ver ")[-1]]),
    ]
    if hasattr(options, "rounds"):
        facts.append(f"{options.rounds} alternating rounds of {options.seconds:g} s, {options.connections} connections, server and "
                     f"wrk on one core each (rows with two workers share both); CPU time of the server's processes, "
                     "without php-fpm and MariaDB; medians.")
    return "\n\n".join(facts)


def table(heads, lines):
    widths = [max(len(str(line[column])) for line in [heads, *lines]) for column in range(len(heads))]
    shown = lambda cells: "| " + " | ".join(str(cell).ljust(width) for cell, width in zip(cells, widths)) + " |"
    return "\n".join([shown(heads), "|" + "|".join("-" * (width + 2) for width in widths) + "|", *map(shown, lines)])


def cpu_table(rows, results):
    lines = []
    for row in rows:
        figures = results[row.name]
        if not any("cpu_us" in figure for figure in figures.values()):
            continue
        floor = figures.get("floor", {}).get("cpu_us")
        cells = [row.title]
        for name in columns(results):
            figure = figures.get(name)
            if not figure:
                cells.append("")
                continue
            ratio = f" ({figure['cpu_us'] / floor:.2f}×)" if floor and name != "floor" else ""
            cells.append(f"{figure['cpu_us']:.1f}{ratio} {figure['per_second'] / 1000:.1f}k/s")
        lines.append(cells)
    if not lines:
        return ""
    return ("## CPU time per request\n\nµs of CPU per request (relative to the floor), thousand requests per second.\n\n"
            + table(["row", *columns(results)], lines))


def busy_table(rows, results):
    """Shows whether the server or wrk was the limit, or something else used the cores."""
    share = lambda figure: f"{figure['busy']:.0%} / {figure['client_busy']:.0%}" if "busy" in figure else ""
    lines = [[row.title, *[share(results[row.name].get(name, {})) for name in columns(results)]] for row in rows]
    lines = [line for line in lines if any(line[1:])]
    if not lines:
        return ""
    return ("## CPU usage of the server and of wrk\n\nCPU time divided by wall time; 100% is one core. If wrk is at its limit and the server "
            "is not, the server\nis woken more often than necessary, and its CPU time per request is rather too high. If neither "
            "is,\nboth waited for something else: for PHP on a miss, or for other processes on the machine.\n\n"
            + table(["row", *columns(results)], lines))


def other_tables(rows, results):
    crowd, idle = [], []
    for row in rows:
        for name in columns(results):
            figure = results[row.name].get(name, {})
            if "slowest_late_ms" in figure:
                times = ("first_late_ms", "median_late_ms", "slowest_late_ms", "beyond_ms", "client_cpu_ms")
                crowd.append([row.title, name, figure["origin_requests"], *[f"{figure[time]:.1f}" for time in times]])
            if "kilobytes_each" in figure:
                idle.append([row.title, name, f"{figure['kilobytes_each']:.2f}", figure["dead"],
                             f"{figure['hit_alone_us']:.1f}", f"{figure['hit_among_us']:.1f}"])
    lines = [[row.title, *[f"{results[row.name][name]['tls_kilobytes_each']:.2f}" if "tls_kilobytes_each" in results[row.name].get(name, {})
                           else "" for name in columns(results)]] for row in rows]
    secured = [line for line in lines if any(line[1:])]
    parts = []
    if secured:
        parts.append("## Idle TLS connections\n\nKB of resident memory per connection.\n\n" + table(["row", *columns(results)], secured))
    if crowd:
        parts.append("## Many clients at once\n\nTime in ms from the moment that PHP finished (its timestamp in the response) until the first, the "
                     "median and the slowest client had the whole response; \"beyond\" is the longest wait of a client minus the "
                     "time of PHP; \"clients\" is the CPU time of all clients to send and receive.\n\n"
                     + table(["row", "server", "upstream requests", "first", "median", "slowest", "beyond", "clients"], crowd))
    if idle:
        parts.append("## Idle connections\n\n"
                     + table(["row", "server", "KB each", "lost", "hit without them, µs", "hit with them, µs"], idle))
    return "\n\n".join(parts)


def targets(rows, results):
    lines = [[row.title, asked, measured, "met" if met else "**missed**"]
             for row in rows for asked, measured, met in judge(row, results)]
    return "## Targets\n\n" + table(["row", "target", "measured", ""], lines) if lines else ""


def remarks(notes):
    lines = [[title, name, problem.splitlines()[0]] for title, name, problem in notes]
    return "## Left out\n\n" + table(["row", "server", "reason"], lines) if lines else ""


def chart(rows, results):
    """Draws one panel per row and one bar per server. Each panel has its own scale, because ratios matter."""
    bar, label, width = 18, 130, 520
    parts, y = [], 10
    for row in rows:
        bars = [(name, results[row.name][name]["cpu_us"]) for name in columns(results) if "cpu_us" in results[row.name].get(name, {})]
        if not bars:
            continue
        longest = max(value for _, value in bars)
        parts.append(f'<text x="10" y="{y + 14}" class="title">{row.title}, µs of CPU per request</text>')
        y += 24
        for name, value in bars:
            length = max(1, value / longest * width)
            parts.append(f'<text x="{label - 8}" y="{y + 13}" text-anchor="end">{name}</text>'
                         f'<rect x="{label}" y="{y}" width="{length:.1f}" height="{bar - 3}" fill="{COLOURS[name]}"/>'
                         f'<text x="{label + length + 6:.1f}" y="{y + 13}">{value:.1f}</text>')
            y += bar
        y += 14
    style = "text{font:12px sans-serif;fill:#333}.title{font-weight:bold}"
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{label + width + 80}" height="{y}">'
            f'<style>{style}</style><rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n')
