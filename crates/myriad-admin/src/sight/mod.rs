//! What is seen of a running server: ticks of a second, ranked pages, history, purges, tags.
//!
//! Moments are milliseconds since the Unix epoch, durations milliseconds with a fraction. What is not known is `null`.

mod request;
mod shown;
mod tick;

pub use request::{HistoryRequest, LiveRequest, PurgesRequest, SendersRequest, TagsRequest, TopsRequest};
pub use shown::{
    HistoryReport, HistorySeries, InspectReport, InspectedLine, PurgeEvent, ReasonCount, SenderReport,
    SendersReport, TagReport, TagsReport, TopPage, TopsReport,
};
pub use tick::{
    Connections, Counts, EncodingTotal, FirstByte, Percentiles, QueueReport, Tick, TierSize, WorkerTick,
    ZoneTick,
};
