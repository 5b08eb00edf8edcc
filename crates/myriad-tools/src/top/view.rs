//! Views of `myriad top`: render the state as lines of text within the width of the terminal.

use myriad_admin::protocol::MemoryTick;
use myriad_admin::protocol::monitoring::{LiveTick, Percentiles, TickCounts, TopPage};
use myriad_admin::protocol::render::{count, duration as span, size};

use super::format::{duration, percent};
use super::paint::{BLUE, BOLD, CYAN, DIM, GREEN, RED, REVERSED, TerminalPaint, YELLOW, fit};
use super::state::{TopState, TopView};

/// Returns a whole screen: a heading, the selected view (or the help, or a note before the first live event), and a
/// line with the keys.
pub(super) fn screen(state: &TopState, (width, height): (usize, usize), paint: TerminalPaint) -> Vec<String> {
    let room = height.saturating_sub(3);
    let mut lines = vec![head(state, width, paint)];
    let body = match &state.tick {
        _ if state.helps => help(paint, width),
        None => vec![String::new(), "  waiting for the first update…".to_owned()],
        Some(tick) => match state.view {
            TopView::Overview => overview(state, tick, width, room, paint),
            TopView::Pages => pages(state.ranked("requests"), "Most requested", width, paint),
            TopView::Misses => {
                let mut lines = misses(state.ranked("misses"), width, paint);
                lines.truncate(room / 2);
                lines.push(String::new());
                lines.extend(slow(state.ranked("slow"), width, paint));
                lines
            }
            TopView::Origins => origins(tick, width, paint),
            TopView::Zones => {
                let mut lines = zones(tick, width, paint);
                lines.push(String::new());
                lines.extend(purges(state, width, paint));
                lines
            }
        },
    };
    lines.push(String::new());
    lines.extend(body.into_iter().take(room));
    lines.resize(height - 1, String::new());
    lines.push(keys(state, width, paint));
    lines.iter().map(|line| fit(line, width)).collect()
}

/// Returns the sections of all views except purges, each with at most 30 lines, for output to a file or a pipe; empty
/// before the first live event.
pub(super) fn snapshot(state: &TopState, width: usize, paint: TerminalPaint) -> Vec<String> {
    let Some(tick) = &state.tick else { return Vec::new() };
    let parts = [
        vec![head(state, width, paint)],
        traffic(state, tick, width, paint, false),
        zones(tick, width, paint),
        origins(tick, width, paint),
        pages(state.ranked("requests"), "Most requested", width, paint),
        misses(state.ranked("misses"), width, paint),
        slow(state.ranked("slow"), width, paint),
    ];
    let mut lines = Vec::new();
    for mut part in parts {
        part.truncate(30);
        lines.extend(part);
        lines.push(String::new());
    }
    lines.pop();
    lines
}

fn head(state: &TopState, width: usize, paint: TerminalPaint) -> String {
    let Some(tick) = &state.tick else { return paint.color(BOLD, "myriad top") };
    let up = span(tick.at_ms.saturating_sub(tick.started_ms));
    let mut text =
        format!("myriad top   up {up}, {} reloads, {} requests", tick.reloads, count(tick.total.requests));
    if let Some(why) = &state.broken {
        text = format!("myriad top   no server: {why}");
    } else if state.is_paused {
        text.push_str("   PAUSED");
    }
    paint.color(BOLD, &paint.foreign(&text, width))
}

fn keys(state: &TopState, width: usize, paint: TerminalPaint) -> String {
    let (mut line, mut used) = (String::new(), 0);
    for (number, (view, name)) in TopView::ALL.iter().enumerate() {
        let text = paint.cut(&format!(" {} {name} ", number + 1), width.saturating_sub(used));
        used += text.chars().count();
        line.push_str(&paint.color(if *view == state.view { REVERSED } else { DIM }, &text));
    }
    let rest = if state.is_paused { "  p resume  ? help  q quit" } else { "  p pause  ? help  q quit" };
    line + &paint.color(DIM, &paint.cut(rest, width.saturating_sub(used)))
}

fn help(paint: TerminalPaint, width: usize) -> Vec<String> {
    const HELP: [&str; 14] = [
        "  1 to 5, Tab   select a view",
        "  p, space      pause or resume; the server continues to count",
        "  q, Esc        quit",
        "",
        "  hit           served from the cache (HIT, STALE, UPDATING)",
        "  miss          sent to an origin: nothing fresh stored (MISS, EXPIRED, REVALIDATED)",
        "  bypass        a rule excluded the request from the cache (BYPASS)",
        "  no cache      files and responses without a cache lookup",
        "  origin        requests sent to origins: PHP, other servers",
        "",
        "  Rankings cover the last 10 to 20 minutes. `>` marks a lower bound, shown if too",
        "  many different pages were requested to count each of them exactly.",
        "",
        "  Logs: myriad log. Pages: myriad cache ls. Servers: myriad upstream ls.",
    ];
    HELP.iter().map(|line| paint.cut(line, width)).collect()
}

fn overview(
    state: &TopState,
    tick: &LiveTick,
    width: usize,
    room: usize,
    paint: TerminalPaint,
) -> Vec<String> {
    let mut lines = traffic(state, tick, width, paint, true);
    let mut left = room.saturating_sub(lines.len());
    let mut add = |part: Vec<String>, most: usize| {
        // A section with only a title and a heading contains no information.
        if left < 4 || part.len() < 3 {
            return;
        }
        let part: Vec<_> = part.into_iter().take(most.min(left - 1)).collect();
        left -= part.len() + 1;
        lines.push(String::new());
        lines.extend(part);
    };
    add(zones(tick, width, paint), 5);
    add(origins(tick, width, paint), 6);
    add(misses(state.ranked("misses"), width, paint), 7);
    add(pages(state.ranked("requests"), "Most requested", width, paint), 12);
    add(slow(state.ranked("slow"), width, paint), 12);
    lines
}

/// Returns the section with rates (if `has_past` is set, also their recent history), connections, memory, and times to
/// the first byte.
fn traffic(
    state: &TopState,
    tick: &LiveTick,
    width: usize,
    paint: TerminalPaint,
    has_past: bool,
) -> Vec<String> {
    type CountGetter = fn(&TickCounts) -> u64;
    const ROWS: [(&str, &str, CountGetter); 6] = [
        ("requests", BOLD, |c| c.requests),
        ("hit", GREEN, |c| c.cache.hit),
        ("miss", YELLOW, |c| c.cache.miss),
        ("bypass", CYAN, |c| c.cache.bypass),
        ("no cache", BLUE, |c| c.uncached),
        ("origin", RED, |c| c.fetches),
    ];
    let now = state.seconds.back().copied().unwrap_or_default();
    let mut lines = Vec::new();
    for (name, color, of) in ROWS {
        let values: Vec<u64> = state.seconds.iter().map(of).collect();
        let mut line = format!("{name:<9}{:>9}/s", count(of(&now)));
        if has_past {
            line = format!("{line}  {}", paint.color(color, &paint.spark(&values, width.saturating_sub(22))));
        }
        lines.push(line.trim_end().to_owned());
    }
    let asked = now.cache.total();
    let total = tick.total.cache;
    let ratio = format!(
        "from the cache {} now, {} since the start   4xx {}/s   5xx {}/s   {}/s sent",
        percent(now.cache.served(), asked),
        percent(total.served(), total.total()),
        count(now.status_4xx),
        count(now.status_5xx),
        size(now.bytes)
    );
    lines.push(paint.cut(&ratio, width));
    let open = tick.connections;
    let waits: u64 = tick.queues.iter().map(|queue| queue.waiting).sum();
    let connections = format!(
        "connections {} ({} reading, {} writing, {} idle)   {} new/s   {} waiting for an origin   workers {}",
        count(open.active),
        open.reading,
        open.writing,
        open.waiting,
        count(now.accepted),
        waits,
        tick.workers.len()
    );
    lines.push(paint.cut(&connections, width));
    lines.push(paint.cut(&memory(&tick.memory), width));
    lines.push(paint.color(DIM, "first byte        p50        p90        p99   slowest    count"));
    let times = &tick.first_byte;
    for (name, times) in
        [("all", times.all), ("hit", times.hit), ("miss", times.miss), ("no cache", times.other)]
    {
        if let Some(times) = times {
            lines.push(first_byte(name, &times));
        }
    }
    lines
}

/// Returns the memory usage of the process; with a memory limit also the limit, and the stage of memory pressure.
fn memory(now: &MemoryTick) -> String {
    match now.limit_bytes {
        Some(limit) => format!(
            "memory {} of {} ({})   stage {}",
            size(now.resident_bytes),
            size(limit),
            percent(now.resident_bytes, limit),
            myriad_admin::protocol::escape_bytes(now.stage.as_bytes())
        ),
        None => format!("memory {}", size(now.resident_bytes)),
    }
}

fn first_byte(name: &str, times: &Percentiles) -> String {
    let [half, nine, most, max] = [times.p50, times.p90, times.p99, times.max].map(duration);
    format!("  {name:<9}{half:>10}{nine:>11}{most:>11}{max:>10}{:>9}", count(times.count))
}

fn title(paint: TerminalPaint, text: &str, head: &str, width: usize) -> Vec<String> {
    vec![paint.color(BOLD, text), paint.color(DIM, &paint.cut(head, width))]
}

fn zones(tick: &LiveTick, width: usize, paint: TerminalPaint) -> Vec<String> {
    let head = "ZONE             PAGES    MEMORY                  FILES      DISK    HITS  PURGED  FETCHING";
    let mut lines = title(paint, "Zones", head, width);
    for zone in &tick.zones {
        let memory = zone.memory;
        let limit = memory.limit_bytes.unwrap_or(0);
        let disk = zone.disk.unwrap_or_default();
        let asked = zone.requests.total();
        let line = format!(
            "{:<14}{:>8}{:>10} {} {:>7}{:>10}{:>10}{:>6}{:>9}",
            paint.foreign(&zone.zone, 14),
            count(memory.pages as u64),
            size(memory.bytes),
            paint.bar(memory.bytes, limit, 10),
            count(disk.pages as u64),
            size(disk.bytes),
            percent(zone.requests.served(), asked),
            count(zone.purged),
            zone.fetching
        );
        lines.push(paint.cut(&line, width));
    }
    lines
}

fn origins(tick: &LiveTick, width: usize, paint: TerminalPaint) -> Vec<String> {
    let head = "STATE        NOW   REQUESTS   FAILED  PHP: BUSY OF    QUEUE  SERVER";
    let mut lines = title(paint, "Origins", head, width);
    for origin in &tick.origins {
        let busy = origin.children.map(|all| all.saturating_sub(origin.children_idle.unwrap_or(0)));
        let shown =
            |figure: Option<u32>| figure.map_or_else(|| "-".to_owned(), |figure| count(figure.into()));
        let line = format!(
            "{:<9}{:>7}{:>11}{:>9}{:>11}{:>3}{:>9}  ",
            paint.foreign(&origin.state, 9),
            count(origin.active.into()),
            count(origin.requests),
            count(origin.failures),
            shown(busy),
            shown(origin.children),
            shown(origin.listen_queue)
        );
        let name = if origin.group.is_empty() || origin.group == origin.server {
            origin.server.clone()
        } else {
            format!("{} {}", origin.group, origin.server)
        };
        let line = format!("{line}{}", paint.foreign(&name, width.saturating_sub(line.len())));
        lines.push(if origin.state == "up" { line } else { paint.color(RED, &line) });
    }
    for queue in &tick.queues {
        let limit = queue.limit.map_or_else(|| "unlimited".to_owned(), |limit| count(limit.into()));
        let name = paint.foreign(&queue.name, 20);
        let line = format!(
            "queue {name}: {} of {limit} requests active, {} clients waiting",
            count(queue.asking.into()),
            count(queue.waiting)
        );
        let line = paint.cut(&line, width);
        lines.push(if queue.waiting > 0 { paint.color(YELLOW, &line) } else { line });
    }
    lines
}

fn at_least(page: &TopPage) -> String {
    let certain = count((page.count - page.over).max(0.0) as u64);
    if page.over > 0.0 { format!(">{certain}") } else { certain }
}

fn pages(pages: &[TopPage], name: &str, width: usize, paint: TerminalPaint) -> Vec<String> {
    let mut lines = title(paint, name, " REQUESTS STATUS  PAGE", width);
    for page in pages {
        let line = format!("{:>9}{:>7}  ", at_least(page), page.status);
        lines.push(format!("{line}{}", paint.foreign(&page.url, width.saturating_sub(line.len()))));
    }
    lines
}

fn misses(pages: &[TopPage], width: usize, paint: TerminalPaint) -> Vec<String> {
    let mut lines = title(paint, "Cache misses", "   MISSED CACHE    WHY                 PAGE", width);
    for page in pages {
        let cache = page.cache.as_deref().unwrap_or("-");
        let reason = page.reason.as_deref().unwrap_or("-");
        let line =
            format!("{:>9} {:<9}{:<19} ", at_least(page), paint.foreign(cache, 8), paint.foreign(reason, 19));
        let room = width.saturating_sub(line.chars().count());
        lines.push(format!("{line}{}", paint.foreign(&page.url, room)));
    }
    lines
}

fn slow(pages: &[TopPage], width: usize, paint: TerminalPaint) -> Vec<String> {
    let mut lines = title(paint, "Slowest", "  SLOWEST     MEAN  PAGE", width);
    for page in pages {
        let shown = |ms: Option<f64>| ms.map_or_else(|| "-".to_owned(), duration);
        let line = format!("{:>9}{:>9}  ", shown(page.slowest_ms), shown(page.mean_ms));
        lines.push(format!("{line}{}", paint.foreign(&page.url, width.saturating_sub(line.len()))));
    }
    lines
}

fn purges(state: &TopState, width: usize, paint: TerminalPaint) -> Vec<String> {
    let mut lines = title(paint, "Purges", "     AGO   PAGES  BY             KIND      WHAT", width);
    let now_ms = state.tick.as_ref().map_or(0, |tick| tick.at_ms);
    for purge in &state.purges {
        let ago = span(now_ms.saturating_sub(purge.at_ms));
        let pages = purge.pages.map_or_else(|| "?".to_owned(), count);
        let kind = format!("{}{}", purge.kind, if purge.soft { " soft" } else { "" });
        let what = format!("{} {}", purge.zone, purge.what);
        let line = format!(
            "{ago:>8}{pages:>8}  {:<14} {:<9} ",
            paint.foreign(&purge.by, 14),
            paint.foreign(&kind, 9)
        );
        let room = width.saturating_sub(line.chars().count());
        lines.push(format!("{line}{}", paint.foreign(&what, room)));
    }
    if state.purges.is_empty() {
        lines.push(paint.color(DIM, "  none since this command started"));
    }
    lines
}

#[cfg(test)]
mod tests;
