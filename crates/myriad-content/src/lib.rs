//! Content that this server generates.
//!
//! | module | content |
//! |---|---|
//! | `files` | files under a root, and their precompressed variants (`gzip_static`) |
//! | `autoindex` | directory listings |
//! | `fancyindex` | directory listings as sortable tables |
//! | `folder` | reading of directories for `autoindex`, `fancyindex` and `random_index` |
//! | `dav` | files that clients write, copy, move and delete |
//! | `echo` | configured texts, delays and subrequests |
//! | `empty_gif` | an image of one pixel |
//! | `random_index` | a random file of a directory |
//! | `stub_status` | counters of the server |

pub mod autoindex;
#[cfg(feature = "dav")]
pub mod dav;
#[cfg(feature = "nginx-extras")]
pub mod echo;
#[cfg(feature = "nginx-extras")]
pub mod empty_gif;
#[cfg(feature = "nginx-extras")]
pub mod fancyindex;
pub mod files;
mod folder;
#[cfg(feature = "nginx-extras")]
pub mod random_index;
pub mod stub_status;
