//! A page is whole: it goes into the store with its tag and its first encoding.

use myriad_policy::EntityTag;
use myriad_store::BodyWriter;

use crate::page;
use myriad_exchange::exchange::Exchange;
use myriad_page::PageMeta;

/// Completes the page that was written. One that memory does not hold gets no encodings.
pub(crate) fn complete(exchange: &Exchange, mut writer: BodyWriter<PageMeta>, mut meta: PageMeta) {
    let Some(body) = writer.body() else {
        meta.facts.tag = meta.facts.tag.or_else(|| writer.spilled().map(EntityTag::made));
        let fresh_until = meta.facts.lifetime().fresh_until;
        let now = myriad_net::clock::now_ms();
        let alternatives = [const { None }; myriad_store::ALTERNATIVES];
        writer.complete(myriad_store::Completion { meta, now, fresh_until, alternatives });
        return;
    };
    let alternatives = match writer.unchanged() {
        Some(previous) => page::alternatives_of(&previous),
        None => page::first_encodings(exchange, meta.view(), &body),
    };
    if meta.facts.tag.is_none() && meta.facts.status != 206 {
        meta.facts.tag = Some(page::tag_of(&body));
    }
    let fresh_until = meta.facts.lifetime().fresh_until;
    let now = myriad_net::clock::now_ms();
    writer.complete(myriad_store::Completion { meta, now, fresh_until, alternatives });
}
