//! Response with the pages that are ranked by cost.

use crate::protocol::monitoring::{ReasonCount, TopPage, TopsReport, TopsRequest};
use crate::protocol::{AdminReply, ReplyEnd};
use myriad_exchange::observation::SiteObservation;
use myriad_exchange::ranking::{PageRow, Ranking, merged};
use myriad_net::clock::{now_ms, to_wall_ms};

use super::purges::limit;
use crate::admin::{Administrator, ReplyResult, ReplySink};

/// Default and maximum value of `limit` in requests for ranked pages.
const PAGES: (u64, u64) = (20, 200);

impl Administrator {
    pub(crate) fn tops(&self, request: &TopsRequest, tell: &mut ReplySink<'_>) -> ReplyResult {
        let word = request.by.as_deref().unwrap_or("requests");
        let ranking = Ranking::parse(word).ok_or("\"by\" must be requests, misses, slow or bytes")?;
        let most = limit(request.limit, PAGES)?;
        tell(AdminReply::Tops(Box::new(ranked(self.sight()?, ranking, most))));
        Ok(ReplyEnd::default())
    }
}

fn ranked(sight: &SiteObservation, ranking: Ranking, most: usize) -> TopsReport {
    let now_ms = now_ms();
    // Workers may wait for these locks while some hundred pages are merged.
    let mut workers: Vec<_> = sight.tops.iter().map(|tops| tops.lock()).collect();
    for tops in &mut workers {
        tops.rotate(now_ms);
    }
    let (since_ms, rows) = merged(workers.iter().map(|tops| &**tops), ranking, most);
    drop(workers);
    TopsReport {
        by: ranking.as_str().to_owned(),
        since_ms: to_wall_ms(since_ms.min(now_ms)),
        to_ms: to_wall_ms(now_ms),
        pages: rows.into_iter().map(|row| page(row, ranking)).collect(),
    }
}

fn page(row: PageRow, ranking: Ranking) -> TopPage {
    let amount = |count: u64| if ranking == Ranking::Slow { ms(count) } else { count as f64 };
    let word = |word: &str| (!word.is_empty()).then(|| word.to_owned());
    TopPage {
        url: crate::protocol::escape_bytes(&row.url),
        count: amount(row.count),
        over: amount(row.overestimate),
        requests: row.requests,
        misses: row.misses,
        bytes: row.bytes,
        slowest_ms: row.slowest_us.map(ms),
        mean_ms: row.mean_us.map(ms),
        status: row.status,
        last_ms: to_wall_ms(row.last_ms),
        cache: word(row.cache),
        reason: word(row.reason),
        reasons: row
            .reasons
            .into_iter()
            .map(|(reason, count)| ReasonCount { reason: reason.to_owned(), count })
            .collect(),
    }
}

/// Converts microseconds to milliseconds.
pub(super) fn ms(us: u64) -> f64 {
    us as f64 / 1000.0
}
