//! Binary under test.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::process::run;

/// Returns the folder of the workspace.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are in the workspace")
}

/// Returns the `myriad` of the profile with which the tests were built; it is rebuilt once per test program.
///
/// `MYRIAD_TEST_BINARY` specifies another binary, for instance a release build or an older version.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| env::var_os("MYRIAD_TEST_BINARY").map_or_else(build, PathBuf::from))
}

fn build() -> PathBuf {
    // .../target/PROFILE/deps/THIS-TEST
    let test = env::current_exe().expect("this program's path");
    let profile = test.ancestors().nth(2).expect("a profile's folder").to_owned();
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(workspace()).args(["build", "--quiet", "--package", "myriad", "--bin", "myriad"]);
    match profile.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => {}
        Some(name) => drop(cargo.args(["--profile", name])),
    }
    run(&mut cargo, "cargo build");
    profile.join("myriad")
}

/// Returns the path of a required program: the one built by `scripts/install-NAME`, otherwise the first in `PATH`.
/// Panics if there is neither.
pub fn tool(name: &str) -> PathBuf {
    let built = workspace().join(format!("target/{name}/bin/{name}"));
    let found = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
    });
    let tool = if built.is_file() { Some(built) } else { found };
    tool.unwrap_or_else(|| panic!("{name} is missing: run scripts/install-{name}, as `make test` does"))
}
