//! Content that this server has itself.
//!
//! | room | what |
//! |---|---|
//! | `files` | files under a root, their precompressed neighbours (`gzip_static`) |
//! | `autoindex` | lists of folders |
//! | `stub_status` | the server's counters |

pub mod autoindex;
pub mod files;
pub mod stub_status;
