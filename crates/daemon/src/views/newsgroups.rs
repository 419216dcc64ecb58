//! The views of headers and posts of newsgroups. Pure; made beside the main loop.

use bergamot_api::newsgroup::{self, HeaderPage, HeaderQuery, PostPage, PostQuery};
use bergamot_api::{Refusal, view};
use bergamot_newsgroups::{Extent, Failure, Header, Headers, Post, PostFile, Query, posts};
use bergamot_types::GroupName;

pub(crate) fn header_page(
    query: &HeaderQuery,
    headers: &Headers,
    extent: &Extent,
    server: String,
) -> HeaderPage {
    let words = Query::new(query.search.as_deref().unwrap_or_default());
    let below = headers.below(query.below.unwrap_or(u64::MAX)).rev();
    let found = below.filter(|header| query.search.is_none() || words.matches(header));
    let items: Vec<_> = found.take(query.limit).map(header_view).collect();
    let last = items.last().map(|header| header.number);
    let is_full = items.len() == query.limit;
    // A page that is not full has seen all that is known; what is older is known to the server only.
    let next = if is_full { last } else { headers.first() };
    // A search looks through what is known, and fetches nothing.
    let has_older = query.search.is_none() && extent.has_older();
    let more = |below: &u64| headers.below(*below).next().is_some() || has_older;
    HeaderPage {
        group: query.group.to_string(),
        server,
        first: extent.offered.first,
        last: extent.offered.last,
        known: headers.len(),
        below: next.or(Some(extent.read.first)).filter(more),
        items,
    }
}

fn header_view(header: Header<'_>) -> newsgroup::Header {
    newsgroup::Header {
        number: header.number,
        subject: header.subject.to_owned(),
        poster: header.poster.to_owned(),
        date: header.date,
        id: header.id.to_owned(),
        bytes: header.bytes,
    }
}

pub(crate) fn post_page(query: &PostQuery, headers: &Headers) -> PostPage {
    let words = Query::new(query.search.as_deref().unwrap_or_default());
    let wanted = |post: &Post<'_>| {
        query.post.as_ref().is_none_or(|key| post.key == *key)
            && (!query.complete || post.is_complete())
            && words.matches_texts(&[&post.title, post.poster])
    };
    let mut found = posts(headers);
    found.retain(wanted);
    let page = found.iter().skip(query.offset).take(query.limit);
    let items = page.map(|post| post_view(post, query.post.is_some())).collect();
    view::Page { total: found.len(), items }
}

fn post_view(post: &Post<'_>, with_files: bool) -> newsgroup::Post {
    newsgroup::Post {
        post: post.key.clone(),
        title: post.title.clone(),
        poster: post.poster.to_owned(),
        date: post.date,
        bytes: post.bytes(),
        complete: post.is_complete(),
        present_files: post.files.len() as u32,
        expected_files: post.expected,
        present_articles: post.files.iter().map(|file| u64::from(file.present())).sum(),
        expected_articles: post.files.iter().map(|file| u64::from(file.expected)).sum(),
        files: with_files.then(|| post.files.iter().map(file_view).collect()),
    }
}

fn file_view(file: &PostFile<'_>) -> newsgroup::PostFile {
    newsgroup::PostFile {
        name: file.name.map(str::to_owned),
        bytes: file.bytes(),
        present: file.present(),
        expected: file.expected,
    }
}

/// The title of a post and its NZB.
pub(crate) fn post_nzb(
    group: &GroupName,
    key: &str,
    headers: &Headers,
) -> Option<(String, String)> {
    let posts = posts(headers);
    let post = posts.iter().find(|post| post.key == key)?;
    Some((post.title.clone(), post.nzb(group)))
}

pub(crate) fn refusal_of(failure: Failure) -> Refusal {
    match failure {
        Failure::NoSuchGroup(group) => Refusal::NoSuchGroup(group.to_string()),
        failure => Refusal::Unavailable(failure.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use bergamot_newsgroups::Overview;
    use bergamot_types::{ArticleRange, MessageId, ServerId};

    use super::*;

    fn headers(numbers: std::ops::RangeInclusive<u64>) -> Headers {
        let mut headers = Headers::default();
        for number in numbers {
            headers.push(&Overview {
                number,
                subject: format!("post {} [1/1] \"a{number}.rar\" yEnc (1/1)", number % 10),
                poster: "ann".into(),
                date: None,
                id: MessageId::parse(&format!("{number}@x")).unwrap(),
                bytes: 7,
            });
        }
        headers
    }

    fn extent(first: u64) -> Extent {
        let range = |first| ArticleRange { first, last: 100 };
        Extent { server: ServerId(1), offered: range(first), read: range(51), is_full: false }
    }

    fn page(below: Option<u64>, limit: usize, search: Option<&str>) -> (Vec<u64>, Option<u64>) {
        let group = GroupName::parse("a.b").unwrap();
        let search = search.map(str::to_owned);
        let query = HeaderQuery { group, search, below, limit, latest: false };
        let page = header_page(&query, &headers(51..=100), &extent(1), "one".to_owned());
        (page.items.iter().map(|header| header.number).collect(), page.below)
    }

    #[test]
    fn pages_follow_each_other_down_to_what_only_the_server_has_and_searches_to_what_is_known() {
        assert_eq!(page(None, 2, None), (vec![100, 99], Some(99)));
        assert_eq!(page(Some(99), 2, None), (vec![98, 97], Some(97)));
        assert_eq!(page(Some(53), 5, None), (vec![52, 51], Some(51)));
        assert_eq!(page(Some(51), 5, None), (vec![], Some(51)));
        assert_eq!(page(None, 2, Some("post 3")), (vec![93, 83], Some(83)));
        assert_eq!(page(None, 9, Some("ANN a77")), (vec![77], None));
    }

    #[test]
    fn at_the_end_there_is_no_next_page() {
        let group = GroupName::parse("a.b").unwrap();
        let query = HeaderQuery { group, search: None, below: Some(53), limit: 2, latest: false };
        let page = header_page(&query, &headers(51..=100), &extent(51), "one".to_owned());
        assert_eq!((page.items.len(), page.below), (2, None));
    }

    #[test]
    fn posts_are_chosen_by_words_key_and_completeness() {
        let headers = headers(51..=100);
        let group = GroupName::parse("a.b").unwrap();
        let query = PostQuery {
            group: group.clone(),
            post: None,
            search: Some("POST 4".to_owned()),
            complete: true,
            offset: 1,
            limit: 2,
            latest: false,
        };
        let page = post_page(&query, &headers);
        assert_eq!((page.total, page.items.len()), (5, 2));
        let key = page.items[0].post.clone();
        let one = PostQuery { post: Some(key.clone()), offset: 0, search: None, ..query };
        let page = post_page(&one, &headers);
        assert_eq!((page.total, page.items[0].files.as_ref().unwrap().len()), (1, 1));
        let (title, nzb) = post_nzb(&group, &key, &headers).unwrap();
        assert_eq!((title.as_str(), nzb.matches("<segment ").count()), ("post 4", 1));
        assert_eq!(post_nzb(&group, "none", &headers), None);
    }
}
