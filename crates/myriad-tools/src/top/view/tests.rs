use super::*;
use crate::top::event::KeyPress;
use myriad_admin::protocol::AdminReply;

/// Live event (tick) of a busy server, as sent by the control socket, with additional unknown members.
const TICK: &str = r#"{"tick":{"at_ms":1764003600123,"interval_ms":500,"started_ms":1764000000000,"reloads":2,"readers":2,"new":{"x":1},
"total":{"requests":123456,"bytes":1,"hit":90,"miss":10},
"delta":{"requests":600,"bytes":1000000,"fetches":20,"accepted":3,"hit":500,"stale":50,"miss":40,"expired":5,"bypass":3,"uncached":2,"status_5xx":1},
"first_byte":{"all":{"count":600,"p50":0.08,"p90":0.4,"p99":2.5,"max":41.0},"hit":null,"miss":null,"other":null},
"connections":{"active":30,"reading":0,"writing":1,"waiting":29},
"origins":[{"block":"http","group":"php","server":"unix:/run/php.sock","state":"up","active":2,"requests":812,"failures":0,"children":8,"children_idle":6,"listen_queue":0},
 {"group":"b","server":"10.0.0.1:80","state":"unavail"}],
"queues":[{"name":"php","asking":2,"waiting":3,"limit":8}],
"zones":[{"zone":"WORDPRESS","memory":{"pages":120,"bytes":5242880,"limit_bytes":67108864},"disk":{"pages":77,"bytes":4096},"requests":{"hit":9,"miss":1},"fetching":1,"purged":10}],
"workers":[{"worker":0,"requests":5012,"active":2}]}}"#;

const PAINT: TerminalPaint = TerminalPaint { has_colors: false, has_unicode: true };

fn state() -> TopState {
    let mut state = TopState::default();
    for _ in 0..100 {
        let AdminReply::Tick(tick) = serde_json::from_str(TICK).expect("a line") else { panic!("no tick") };
        state.tick(*tick);
    }
    let tops = r#"{"tops":{"by":"misses","pages":[{"url":"https://a.test/\u001b[2J/shop/?a=1","count":57,"over":7,"cache":"BYPASS","reason":"personal cookie","status":200,"slowest_ms":812.0,"mean_ms":300.1}]}}"#;
    for by in ["requests", "misses", "slow"] {
        let AdminReply::Tops(tops) = serde_json::from_str(tops).expect("a line") else { panic!("no tops") };
        state.ranking(by, tops.pages);
    }
    let purge = r#"{"purge-event":{"at_ms":1764003590123,"zone":"WORDPRESS","kind":"url","what":"https://a.test/","by":"request","pages":3}}"#;
    let AdminReply::PurgeEvent(purge) = serde_json::from_str(purge).expect("a line") else {
        panic!("no purge")
    };
    state.purge(*purge);
    state
}

#[test]
fn each_view_fits_each_terminal_and_escapes_control_characters_from_clients() {
    let mut state = state();
    for size in [(40, 10), (80, 24), (140, 50), (400, 100)] {
        for key in ['1', '2', '3', '4', '5', '?'] {
            state.key(KeyPress::Letter(key));
            for paint in [PAINT, TerminalPaint { has_colors: true, has_unicode: false }] {
                let lines = screen(&state, size, paint);
                assert_eq!(lines.len(), size.1);
                for line in lines {
                    let mut parts = line.split("\u{1b}[");
                    let first = parts.next().unwrap_or_default().to_owned();
                    let plain = first
                        + &parts.map(|part| part.split_once('m').expect("a color").1).collect::<String>();
                    assert!(plain.chars().count() <= size.0, "{key} {size:?}: {plain}");
                    assert!(plain.chars().all(|c| !c.is_control()), "{plain}");
                }
            }
        }
        state.key(KeyPress::Letter('?'));
    }
}

#[test]
fn a_snapshot_shows_rates_shares_origins_pages_and_reasons() {
    let text = snapshot(&state(), 120, PAINT).join("\n");
    for part in [
        "up 1h00m, 2 reloads, 123,456 requests",
        "requests     1,200/s",
        "hit          1,100/s",
        "miss            90/s",
        "from the cache 92.4 % now, 90.0 % since the start",
        "connections 30 (0 reading, 1 writing, 29 idle)",
        "0.08ms",
        "WORDPRESS          120      5.0M █░░░░░░░░░",
        "php unix:/run/php.sock",
        "unavail",
        "queue php: 2 of 8 requests active, 3 clients waiting",
        ">50 BYPASS   personal cookie     https://a.test/\\x1B[2J/shop/?a=1",
        "812ms",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn pause_freezes_display_and_lost_server_is_shown() {
    let mut state = state();
    state.key(KeyPress::Letter('p'));
    let AdminReply::Tick(mut tick) = serde_json::from_str(TICK).expect("a line") else { panic!("no tick") };
    tick.total.requests = 7;
    state.tick(*tick);
    assert!(screen(&state, (80, 24), PAINT)[0].ends_with("123,456 requests   PAUSED"));
    state.key(KeyPress::Letter('p'));
    state.broken = Some("gone".to_owned());
    assert_eq!(screen(&state, (80, 24), PAINT)[0], "myriad top   no server: gone");
    state.key(KeyPress::Tab);
    assert_eq!(state.view, TopView::Pages);
}

#[test]
fn purge_shows_how_long_ago_it_was() {
    let text = purges(&state(), 120, PAINT).join("\n");
    assert!(text.contains("     10s       3  request"), "{text}");
}
