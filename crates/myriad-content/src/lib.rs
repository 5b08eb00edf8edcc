//! Content that this server has itself.
//!
//! | room | what |
//! |---|---|
//! | `files` | files under a root, their precompressed neighbours (`gzip_static`) |
//! | `autoindex` | lists of folders |
//! | `empty_gif` | a picture of one pixel |
//! | `stub_status` | the server's counters |

pub mod autoindex;
pub mod empty_gif;
pub mod files;
pub mod stub_status;
