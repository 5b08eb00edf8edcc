//! Messages for monitoring a running server: live events, ranked pages, history, purges, tags.
//!
//! Times are milliseconds since the Unix epoch; durations are milliseconds with a fraction. Unknown values are `null`.

mod reports;
mod request;
mod tick;

pub use reports::{
    HistoryReport, HistorySeries, InspectReport, InspectedLine, LeakReport, PurgeEvent, ReasonCount,
    SenderReport, SendersReport, TagReport, TagsReport, TextChangeReport, TopPage, TopsReport,
};
pub use request::{
    HistoryRequest, LeaksRequest, LiveRequest, PurgesRequest, SendersRequest, TagsRequest, TopsRequest,
};
pub use tick::{
    ConnectionCounts, EncodingTotal, FirstByteTimes, LiveTick, Percentiles, QueueReport, TickCounts,
    TierSize, WorkerTick, ZoneTick,
};
