//! Crawl of the whole site with links that contain tracking arguments.

use std::collections::BTreeSet;

use myriad_tests::{Client, Place, WordPress};

use super::{browser, page};

/// Arguments that never change a page, each with a value of the visitor (`N`).
const TRACKING: [&str; 44] = [
    "utm_source=N",
    "utm_medium=mail-N",
    "utm_campaign=N",
    "utm_term=N",
    "utm_content=N%20x",
    "utm_id=N",
    "fbclid=N",
    "gclid=N",
    "gclsrc=aw.ds.N",
    "gbraid=N",
    "wbraid=N",
    "gad_source=N",
    "gad_campaignid=N",
    "_ga=2.N",
    "_gl=1*N",
    "_ke=N",
    "msclkid=N",
    "mc_cid=N",
    "mc_eid=N",
    "mtm_source=N",
    "matomo_x=N",
    "pk_campaign=N",
    "piwik_kwd=N",
    "hsa_acc=N",
    "fb_action_ids=N",
    "fb_action_types=N",
    "fb_source=N",
    "igshid=N",
    "li_fat_id=N",
    "ttclid=N",
    "twclid=N",
    "ScCid=N",
    "epik=N",
    "ef_id=N:G:s",
    "srsltid=N",
    "s_kwcid=AL!N",
    "sscid=N",
    "usqp=N",
    "dm_i=N",
    "trk_contact=N",
    "utm_=N",
    "utm_x",
    "_gl",
    "fbclid=",
];

/// Returns the pages of the site, found by their links.
fn pages(site: &WordPress, server: &myriad_tests::Server) -> Vec<String> {
    let origin = format!("http://127.0.0.1:{}/", server.port);
    let mut found: BTreeSet<String> = BTreeSet::new();
    let mut queue = vec!["/".to_owned(), "/feed/".to_owned(), "/wp-sitemap.xml".to_owned()];
    while let Some(target) = queue.pop() {
        if !found.insert(target.clone()) {
            continue;
        }
        let text = page(server, &target).text();
        let links = text.split(&origin).skip(1);
        let paths = links
            .map(|rest| rest.split(['"', '\'', '<', '#', ' ', '?', '\\', '&']).next().unwrap_or_default());
        let paths = paths.filter(|path| !path.starts_with("wp-") || path.starts_with("wp-sitemap"));
        queue.extend(paths.filter(|path| !path.contains("xmlrpc")).map(|path| format!("/{path}")));
    }
    assert!(found.len() > 100 && site.php_requests() > 0, "{} pages", found.len());
    found.into_iter().filter(|target| page(server, target).status == 200).collect()
}

#[test]
fn a_crawl_with_tracking_arguments_is_served_from_the_cache() {
    let site = WordPress::alone();
    // Without samples of the leak guard, whose number depends on the duration of the test.
    let server = site.serve_changed(Place::new(), &site.php().display().to_string(), |preset| {
        assert!(preset.contains("leak_guard sample=1%;"));
        preset.replace("leak_guard sample=1%;", "leak_guard on;")
    });
    let pages = pages(&site, &server);
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    let mut client = Client::connect(server.port);
    let (mut hits, mut asked) = (0, 0);
    let before = site.php_requests();
    for _ in 0..10 {
        for target in &pages {
            let count = random.usize(1..6);
            let word = |random: &mut fastrand::Rng| {
                TRACKING[random.usize(..TRACKING.len())].replace('N', &random.u32(..).to_string())
            };
            let arguments: Vec<String> = (0..count).map(|_| word(&mut random)).collect();
            let answer = client.fetch(&browser(&server, &format!("{target}?{}", arguments.join("&"))));
            assert_eq!(answer.status, 200, "{target} (seed {seed})");
            asked += 1;
            hits += usize::from(answer.cache() == "HIT");
        }
    }
    let reached = site.php_requests() - before;
    println!("{} pages, {asked} visits, {hits} hits, {reached} requests to PHP", pages.len());
    assert!(hits * 1000 > asked * 990, "{hits} hits of {asked} (seed {seed})");
    assert!(reached * 100 < asked, "{reached} requests reached PHP of {asked} (seed {seed})");
}
