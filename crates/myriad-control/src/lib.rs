//! What changes and shows a running site: purges, what administrators ask, the API over HTTP.
//!
//! | room | what |
//! |---|---|
//! | `purge` | purges: by requests, by what origins answer, by administrators |
//! | `admin` | what administrators see and change, whichever way they ask |
//! | `api` | what they ask over HTTP |
//! | `metrics` | all counts, as Prometheus reads them |
//! | `status_zone` | under which names requests are counted |
//! | `sight` | what is seen of the running server: live events, ranked pages, history, purges, tags |
//! | `dashboard` | the page that shows it, and the API below that |
//! | `traffic_status` | counts of traffic, in the words of nginx-module-vts |

pub mod admin;
pub mod api;
pub mod dashboard;
pub mod metrics;
pub mod purge;
pub mod sight;
pub mod status_zone;
pub mod traffic_status;
