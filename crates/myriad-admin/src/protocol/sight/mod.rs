//! Monitoring of a running server: ticks of a second, ranked pages, history, purges, tags.
//!
//! Times are milliseconds since the Unix epoch, durations are milliseconds with a fraction. Unknown values are `null`.

mod request;
mod shown;
mod tick;

pub use request::{HistoryRequest, LiveRequest, PurgesRequest, SendersRequest, TagsRequest, TopsRequest};
pub use shown::{
    HistoryReport, HistorySeries, InspectReport, InspectedLine, PurgeEvent, ReasonCount, SenderReport,
    SendersReport, TagReport, TagsReport, TopPage, TopsReport,
};
pub use tick::{
    ConnectionCounts, EncodingTotal, FirstByteTimes, LiveTick, Percentiles, QueueReport, TickCounts,
    TierSize, WorkerTick, ZoneTick,
};
