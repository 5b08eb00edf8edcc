"""The rows of the benchmark: the request, the servers, how a response is checked, and the targets."""

import dataclasses

import tls

CSS = "/wp-includes/css/dist/block-library/style.min.css"
GZIP = ("Accept-Encoding", "gzip")
BROWSER = ("Accept-Encoding", "gzip, deflate, br")
PEERS = ["nginx-recipe", "nginx-best", "varnish"]
CANDIDATES = ["myriad", "myriad-bare", *PEERS]
BEFORE = {"myriad": "myriad-before", "myriad-bare": "myriad-bare-before"}  # the same servers with the binary of an earlier commit
UNCHANGED = 1.02  # maximum cost of a row, relative to the earlier commit


@dataclasses.dataclass
class Row:
    """One row of the table. `fields` are request headers; `codings` are the accepted content codings."""

    name: str
    title: str
    path: str = "/"
    fields: tuple = ()
    servers: tuple = tuple(CANDIDATES)
    kind: str = "hit"           # hit | tls | h2 | h3 | handshake | idle-tls | revalidate | miss | crowd | idle
    codings: tuple = ("",)
    cached: bool = True         # an X-Cache other than HIT is an error
    close: bool = False
    workers: int = 1
    rounds: int = 0             # 0: the number of the command line
    floor: bool = True
    targets: tuple = ()         # (server, name in JUDGES, arguments of that function ...)

    def with_before(self):
        """Returns the row with Myriad of an earlier commit added in the same rounds; handshakes are not compared."""
        pairs = [(now, before) for now, before in BEFORE.items() if now in self.servers] if self.kind != "handshake" else []
        figure = "hit_alone_us" if self.kind == "idle" else "cpu_us"
        limited = () if self.kind in ("crowd", "idle-tls") else tuple((now, "before", before, figure) for now, before in pairs)
        return dataclasses.replace(self, servers=(*self.servers, *(before for _, before in pairs)), targets=(*self.targets, *limited))

    @property
    def against_one(self):
        """Returns the servers that also run with one worker in this row, so that both are compared in the same rounds."""
        return [target[0] for target in self.targets if target[1] == "against-one"]


ROWS = [
    Row("home-gzip", "Home page, gzip", fields=(GZIP,), codings=("gzip",), targets=(
        ("myriad-bare", "ratio", "floor", 1.20), ("myriad", "ratio", "floor", 1.25),
        ("myriad", "ratio", "nginx-recipe", 1 / 25), ("myriad", "ratio", "nginx-best", 1.0),
        ("myriad", "ratio", "varnish", 0.45))),
    Row("home-br", "Home page, br (gzip if the server has no br)", fields=(BROWSER,), codings=("br", "gzip"), targets=(
        ("myriad-bare", "ratio", "floor", 1.20), ("myriad", "ratio", "floor", 1.25),
        ("myriad", "ratio", "nginx-recipe", 1 / 25), ("myriad", "ratio", "nginx-best", 1.0),
        ("myriad", "ratio", "varnish", 0.45))),
    Row("home-identity", "Home page, identity", rounds=11, targets=(
        ("myriad-bare", "ratio", "floor", 1.20), ("myriad", "ratio", "floor", 1.20),
        ("myriad", "wins", "nginx-recipe", 9, 11),
        ("myriad", "ratio", "varnish", 1 / 12))),
    Row("small-gzip", "Small page (0.9 KB), gzip", path="/small.php", fields=(GZIP,), codings=("gzip", ""), targets=(
        ("myriad-bare", "ratio", "floor", 1.20),)),
    Row("css-gzip", "Static CSS, compressed", path=CSS, fields=(GZIP,), codings=("gzip",), cached=False, targets=(
        ("myriad", "ratio", "floor", 1.25), ("myriad", "ratio", "nginx-recipe", 1 / 15))),
    Row("home-304", "Home page, repeat visitor (304)", fields=(GZIP,), codings=("gzip",), kind="revalidate",
        targets=(("myriad-bare", "ratio", "floor", 1.20),)),
    Row("css-304", "Static CSS, repeat visitor (304)", path=CSS, fields=(GZIP,), codings=("gzip",), cached=False,
        kind="revalidate", targets=(("myriad", "ratio", "nginx-recipe", 1.0),)),
    Row("more-headers", "Home page, gzip, twenty more_set_headers", fields=(GZIP,), codings=("gzip",),
        servers=("myriad-bare", "myriad-headers"), rounds=11, targets=(("myriad-headers", "beyond", "myriad-bare", 0.05),)),
    Row("counting", "Home page, gzip, with counters and an access log", fields=(GZIP,), codings=("gzip",),
        servers=("myriad-bare", "myriad-logged"), rounds=11, targets=(("myriad-logged", "beyond", "myriad-bare", 0.08),
            # Compared with a commit without counters, this row also shows the cost of counting.
            ("myriad-logged", "beyond", "myriad-bare-before", 0.08))),
    Row("home-close", "Home page, gzip, no keep-alive", fields=(GZIP, ("Connection", "close")), codings=("gzip",), close=True,
        targets=(("myriad", "ratio", "nginx-best", 1.0), ("myriad", "ratio", "nginx-recipe", 1.0))),
    Row("miss", "Miss: logged-in visitor, small page through php-fpm", path="/small.php", floor=False, cached=False,
        kind="miss", fields=(GZIP, ("Cookie", "wordpress_logged_in_0=x")), codings=("gzip", ""), targets=(
            ("myriad", "ratio", "nginx-recipe", 1.0),)),
    Row("home-gzip-2w", "Home page, gzip, two workers", fields=(GZIP,), codings=("gzip",), workers=2, floor=False,
        targets=(("myriad", "against-one", 1.1),)),
    Row("crowd", "200 clients at once for a page that takes PHP 300 ms", kind="crowd", fields=(GZIP,), floor=False,
        targets=(("myriad", "crowd", 1, 10.0),)),
    Row("crowd-2w", "The same, two workers", kind="crowd", fields=(GZIP,), workers=2, floor=False,
        targets=(("myriad", "crowd", 1, 10.0),)),
    Row("tls-full", "Full handshake of TLS 1.3, P-256, no request", path="full", kind="handshake", targets=(
        ("myriad", "ratio", "nginx-recipe", 0.55), ("myriad", "ratio", "floor", 1.15))),
    Row("tls-resumed", "Resumed handshake of TLS 1.3", path="resumed", kind="handshake", targets=(
        ("myriad", "ratio", "nginx-recipe", 0.70), ("myriad", "ratio", "floor", 1.15))),
    Row("tls-gzip", "Home page, gzip, TLS (the floor: plain)", kind="tls", fields=(GZIP,), codings=("gzip",),
        servers=("myriad", "nginx-recipe"), targets=(
            ("myriad", "ratio", "nginx-recipe", 1 / 20), ("myriad", "ratio", "floor", 2.2))),
    Row("tls-identity", "Home page, identity, TLS (the floor: plain)", kind="tls", servers=("myriad", "nginx-recipe"), targets=(
        ("myriad", "ratio", "nginx-recipe", 0.6),)),
    Row("tls-idle", "2,000 idle TLS connections", kind="idle-tls", fields=(GZIP,), codings=("gzip",), floor=False,
        servers=("myriad", "nginx-recipe"), targets=(("myriad", "idle-tls", 16.0),)),
    Row("h2-gzip", "Home page, gzip, HTTP/2 over TLS", kind="h2", fields=(GZIP,), codings=("gzip",), floor=False,
        servers=("myriad", "nginx-recipe"), targets=(("myriad", "ratio", "nginx-recipe", 1 / 15),)),
    Row("h2-identity", "Home page, identity, HTTP/2 over TLS", kind="h2", floor=False, servers=("myriad", "nginx-recipe"), targets=(
        ("myriad", "ratio", "nginx-recipe", 0.9),)),
    Row("h3-gzip", "Home page, gzip, HTTP/3", kind="h3", fields=(GZIP,), codings=("gzip",), floor=False, servers=("myriad",), targets=(
        ("myriad", "ratio", "floor", 1.3),)),
    Row("h3-identity", "Home page, identity, HTTP/3", kind="h3", floor=False, servers=("myriad",), targets=(
        ("myriad", "ratio", "floor", 1.3),)),
    Row("idle", "10,000 idle connections", kind="idle", fields=(GZIP,), codings=("gzip",), floor=False,
        targets=(("myriad", "idle", 2.0, 1.1),)),
    Row("idle-2w", "The same, two workers", kind="idle", fields=(GZIP,), codings=("gzip",), workers=2, floor=False,
        targets=(("myriad", "idle", 2.0, 1.1),)),
]


def judge(row, results):
    """Returns (target, measured, whether it is met) for each target of `row`; targets with a missing server are left out."""
    verdicts = []
    for target in row.targets:
        subject, kind = target[0], target[1]
        mine = results.get(row.name, {}).get(subject)
        if mine:
            verdicts.append(JUDGES[kind](mine, results, row, target))
    return [verdict for verdict in verdicts if verdict]


def judge_ratio(mine, results, row, target):
    subject, _, other, limit = target
    theirs = results[row.name].get(other)
    if not theirs:
        return None
    ratio = mine["cpu_us"] / theirs["cpu_us"]
    asked = f"{limit:.2f}" if limit >= 0.1 else f"1/{round(1 / limit)}"
    return f"{subject} at most {asked} × {other}", f"{ratio:.2f}" if ratio >= 0.1 else f"1/{1 / ratio:.0f}", ratio <= limit


def judge_beyond(mine, results, row, target):
    subject, _, other, limit = target
    theirs, floor = results[row.name].get(other), results[row.name].get("floor")
    if not theirs or not floor:
        return None
    beyond = (mine["cpu_us"] - theirs["cpu_us"]) / floor["cpu_us"]
    return f"{subject} at most {limit} × floor above {other}", f"{beyond:.3f}", beyond <= limit


def judge_before(mine, results, row, target):
    subject, _, earlier, figure = target
    theirs = results[row.name].get(earlier)
    if not theirs:
        return None
    ratio = mine[figure] / theirs[figure]
    return f"{subject} at most {UNCHANGED} × {earlier}", f"{ratio:.3f}", ratio <= UNCHANGED


def judge_wins(mine, results, row, target):
    subject, _, other, needed, rounds = target
    theirs = results[row.name].get(other)
    if not theirs:
        return None
    won = sum(a < b for a, b in zip(mine["all_cpu_us"], theirs["all_cpu_us"]))
    played = min(len(mine["all_cpu_us"]), len(theirs["all_cpu_us"]))
    return f"{subject} below {other} in {needed} of {rounds} rounds", f"{won} of {played}", won * rounds >= needed * played


def judge_against_one(mine, results, row, target):
    subject, _, limit = target
    single = results[row.name].get(f"{subject}, one worker")
    if not single:
        return None
    ratio = mine["cpu_us"] / single["cpu_us"]
    return f"{subject} at most {limit} × one worker", f"{ratio:.2f}", ratio <= limit


def judge_crowd(mine, results, row, target):
    subject, _, requests, milliseconds = target
    asked = f"{subject}: {requests} upstream request, slowest client within {milliseconds:.0f} ms after it"
    return (asked, f"{mine['origin_requests']:g}, {mine['slowest_late_ms']:.1f} ms",
            mine["origin_requests"] == requests and mine["slowest_late_ms"] <= milliseconds)


def judge_idle(mine, results, row, target):
    subject, _, kilobytes, limit = target
    ratio = mine["hit_among_us"] / mine["hit_alone_us"]
    return (f"{subject}: at most {kilobytes:.0f} KB each, no errors, hit at most {limit} × without them",
            f"{mine['kilobytes_each']:.2f} KB, {mine['dead']} lost, {ratio:.2f}",
            mine["kilobytes_each"] <= kilobytes and not mine["dead"] and ratio <= limit)


JUDGES = {"ratio": judge_ratio, "beyond": judge_beyond, "before": judge_before, "wins": judge_wins, "against-one": judge_against_one, "crowd": judge_crowd,
          "idle": judge_idle, "idle-tls": tls.judge_idle}
