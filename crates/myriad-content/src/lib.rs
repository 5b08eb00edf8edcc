//! Content that this server has itself.
//!
//! | room | what |
//! |---|---|
//! | `files` | files under a root, their precompressed neighbours (`gzip_static`) |
//! | `autoindex` | lists of folders |
//! | `fancyindex` | lists of folders as tables that can be sorted |
//! | `folder` | what is in a folder, for both |
//! | `dav` | files that clients write, copy, move and delete |
//! | `echo` | texts, waits and subrequests of the configuration |
//! | `empty_gif` | a picture of one pixel |
//! | `random_index` | a file of a folder, another one each time |
//! | `stub_status` | the server's counters |

pub mod autoindex;
pub mod dav;
pub mod echo;
pub mod empty_gif;
pub mod fancyindex;
pub mod files;
mod folder;
pub mod random_index;
pub mod stub_status;
