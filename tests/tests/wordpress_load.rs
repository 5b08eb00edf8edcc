//! Load on a real WordPress with the plugin, the short version of `make bench-small-machine`: within 2 GB, and without
//! its database.

use std::fs;
use std::process::Command;

use myriad_tests::{Answer, Load, Request, Server, WordPress, binary};

/// Memory limit of all processes of the site, in bytes.
const LIMIT: u64 = 2 << 30;
const READERS: usize = 10;

fn host(server: &Server) -> String {
    format!("127.0.0.1:{}", server.port)
}

/// Returns the memory of processes and their children in bytes, with each shared page counted once (Pss).
fn memory(roots: &[u32]) -> u64 {
    let text = |pid: u32, file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let pids: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let parent = |pid: u32| {
        let stat = text(pid, "stat");
        stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
    };
    let is_of_it = |pid: &u32| {
        let mut one = *pid;
        (0..8).any(|_| {
            let is_root = roots.contains(&one);
            one = if one > 1 { parent(one) } else { 0 };
            is_root
        })
    };
    let pss = |pid: u32| {
        let rollup = text(pid, "smaps_rollup");
        let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024
    };
    pids.into_iter().filter(is_of_it).map(pss).sum()
}

/// Returns names and cookies of logged-in readers.
fn readers(site: &WordPress, server: &Server) -> Vec<(String, String)> {
    let code = format!(
        "foreach (range(1, {READERS}) as $number) {{ $name = \"reader{{$number}}x\"; \
         $id = wp_insert_user(['user_login' => $name, 'user_pass' => 'x', 'user_email' => \"$name@example.org\", 'display_name' => $name, \
             'role' => 'subscriber']); \
         $token = WP_Session_Tokens::get_instance($id)->create(time() + 86400); \
         echo $name, ' ', LOGGED_IN_COOKIE, '=', rawurlencode(wp_generate_auth_cookie($id, time() + 86400, 'logged_in', $token)), PHP_EOL; }}"
    );
    let told = site.run_php(&host(server), &code);
    told.lines()
        .map(|line| {
            line.split_once(' ').map(|(name, cookie)| (name.into(), cookie.into())).expect("a cookie")
        })
        .collect()
}

/// Returns the error of a response: an incomplete page, or the name of another reader.
fn judge(request: &Request, answer: &Answer) -> Result<(), String> {
    let text = answer.text();
    let asked = String::from_utf8_lossy(&request.bytes()).into_owned();
    let own = asked.lines().find_map(|line| line.strip_prefix("X-Reader: "));
    let foreign = (1..=READERS)
        .map(|number| format!("reader{number}x"))
        .find(|name| text.contains(name) && Some(name.as_str()) != own);
    match (answer.status, foreign) {
        (200, None) if text.contains("</html>") || text.contains("</rss>") => Ok(()),
        (status, foreign) => Err(format!("{status}, {foreign:?}: {asked}")),
    }
}

#[test]
fn crowd_is_served_within_two_gigabytes_and_without_the_database() {
    let site = WordPress::alone();
    let server = site.serve_with_plugin();
    let posts = site.run_php(&host(&server), "foreach (get_posts(['numberposts' => 12]) as $post) echo parse_url(get_permalink($post), PHP_URL_PATH), ' ';");
    let mut targets: Vec<_> = posts.split_whitespace().map(str::to_owned).collect();
    targets.extend(["/", "/about/", "/feed/"].map(str::to_owned));
    let strangers: Vec<_> = targets.iter().map(|target| Request::get(target).host(&host(&server))).collect();
    for stranger in &strangers {
        assert_eq!(server.fetch(stranger).status, 200);
    }
    // A tenth of the requests are from readers, each from another reader.
    let known = readers(&site, &server);
    let mut requests = Vec::new();
    for (number, (name, cookie)) in known.iter().enumerate() {
        requests.extend((0..9).map(|more| strangers[(9 * number + more) % strangers.len()].clone()));
        let page = Request::get(&targets[number % targets.len()]).host(&host(&server));
        requests.push(page.field("X-Reader", name).field("Cookie", cookie));
    }
    let load = Load::start(server.port, 100, requests, judge);
    let mut most = 0;
    for _ in 0..5 {
        load.wait_for(400);
        most = most.max(memory(&[server.pid(), site.pid("php"), site.pid("db")]));
    }
    let (_, failures) = load.stop();
    assert!(failures.is_empty(), "{:?}", &failures[..failures.len().min(5)]);
    assert!((50 << 20..LIMIT).contains(&most), "{most} bytes");
    // Every stored page has to be refreshed, which is impossible.
    site.kill_database();
    let mut purge = Command::new(binary());
    purge.args(["purge", "--all", "--invalidate", "-p"]).arg(server.folder());
    assert!(purge.output().expect("myriad starts").status.success());
    let own = server.fetch(&strangers[0].clone().field("Cookie", "NO_CACHE=1"));
    assert_eq!(own.status, 500, "the database is really gone");
    let load = Load::start(server.port, 50, strangers.clone(), judge);
    load.wait_for(1_000);
    let (_, failures) = load.stop();
    assert!(failures.is_empty(), "{:?}", &failures[..failures.len().min(5)]);
    site.start_again();
    assert_eq!(server.fetch(&strangers[0].clone().field("Cookie", "NO_CACHE=1")).status, 200);
}
