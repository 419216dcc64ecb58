//! [`Post`]: files and articles that belong together, derived from subjects.

use std::collections::{BTreeMap, HashMap, HashSet};

use bergamot_nzb::{WrittenFile, WrittenSegment, write};
use bergamot_types::{GroupName, UnixTime, fnv64};

use crate::headers::{Header, Headers};
use crate::stem::stem;
use crate::subject::Subject;

/// What one poster posted under one title, as far as headers tell.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Post<'a> {
    /// The same as long as poster, title and the first file are.
    pub key: String,
    pub title: String,
    pub poster: &'a str,
    /// When its first article was posted.
    pub date: Option<UnixTime>,
    /// In the order of their counters, then of their names.
    pub files: Vec<PostFile<'a>>,
    /// What the counters promise; at least those there are.
    pub expected: u32,
    /// The number of its newest article.
    pub newest: u64,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PostFile<'a> {
    pub name: Option<&'a str>,
    /// Its place among the files of the post.
    pub number: Option<u32>,
    /// The subject of one of its articles.
    pub subject: &'a str,
    pub date: Option<UnixTime>,
    parts: BTreeMap<u32, (&'a str, u64)>, // id and bytes
    /// How many parts it is said to have.
    pub expected: u32,
}

/// All posts there are parts of, the newest first.
pub fn posts(headers: &Headers) -> Vec<Post<'_>> {
    let mut assembly = Assembly::default();
    for header in headers.iter() {
        if let Some(subject) = Subject::parse(header.subject) {
            assembly.add(header, &subject);
        }
    }
    assembly.finish()
}

impl Post<'_> {
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(PostFile::bytes).sum()
    }

    /// Whether every part of every file is there.
    pub fn is_complete(&self) -> bool {
        self.files.len() >= self.expected as usize && self.files.iter().all(PostFile::is_complete)
    }

    /// An NZB of all that is there.
    pub fn nzb(&self, group: &GroupName) -> String {
        let groups = std::slice::from_ref(group);
        write(&self.title, self.files.iter().map(|file| file.written(self.poster, groups)))
    }
}

impl<'a> PostFile<'a> {
    pub fn present(&self) -> u32 {
        self.parts.len() as u32
    }

    pub fn bytes(&self) -> u64 {
        self.parts.values().map(|(_, bytes)| bytes).sum()
    }

    pub fn is_complete(&self) -> bool {
        self.present() >= self.expected
    }

    fn written<'w>(
        &'w self,
        poster: &'w str,
        groups: &'w [GroupName],
    ) -> WrittenFile<'w, impl Iterator<Item = WrittenSegment<'w>>> {
        let segments =
            self.parts.iter().map(|(&number, &(id, bytes))| WrittenSegment { number, bytes, id });
        let date = self.date.unwrap_or(UnixTime(0));
        WrittenFile { poster, date, subject: self.subject, groups, segments }
    }
}

#[derive(Default)]
struct Assembly<'a> {
    drafts: Vec<Draft<'a>>,
    families: HashMap<Family<'a>, Vec<usize>>,
}

/// What all files of one post share. A poster may use the same more than once.
#[derive(Clone, Eq, Hash, PartialEq)]
struct Family<'a> {
    poster: &'a str,
    title: String,
    files: u32, // 0 where they are not counted
}

struct Draft<'a> {
    post: Post<'a>,
    files: HashMap<FileKey<'a>, usize>,
    taken: HashSet<u32>, // places among the files
    stems: HashSet<&'a str>,
}

/// What all parts of one file share.
type FileKey<'a> = (&'a str, u32); // the subject up to the counter of parts, and their total

impl<'a> Assembly<'a> {
    fn add(&mut self, header: Header<'a>, subject: &Subject<'a>) {
        let family = Family {
            poster: header.poster,
            title: shared_title(subject),
            files: subject.file.map_or(0, |file| file.total),
        };
        let key = (subject.head, subject.part.total);
        let relatives = self.families.get(&family).map_or(&[][..], Vec::as_slice);
        let related =
            relatives.iter().map(|&index| (self.drafts[index].affinity(key, subject), index));
        let index = match related.max() {
            Some((affinity, index)) if affinity > Affinity::None => index,
            _ => self.begin(family, header),
        };
        self.drafts[index].add(key, header, subject);
    }

    fn begin(&mut self, family: Family<'a>, header: Header<'a>) -> usize {
        let post = Post {
            key: String::new(),
            title: family.title.clone(),
            poster: header.poster,
            date: header.date,
            files: Vec::new(),
            expected: family.files,
            newest: header.number,
        };
        let (files, taken, stems) = (HashMap::new(), HashSet::new(), HashSet::new());
        self.drafts.push(Draft { post, files, taken, stems });
        let index = self.drafts.len() - 1;
        let relatives = self.families.entry(family).or_default();
        // Only the last few are still being posted, and each of them is looked at for each header.
        if relatives.len() == MOST_RELATIVES {
            relatives.remove(0);
        }
        relatives.push(index);
        index
    }

    fn finish(self) -> Vec<Post<'a>> {
        let mut posts: Vec<_> = self.drafts.into_iter().map(Draft::finish).collect();
        let mut known = HashSet::new();
        for post in &mut posts {
            post.key = key(post, false);
            if !known.insert(post.key.clone()) {
                post.key = key(post, true);
            }
        }
        posts.retain(|post| !post.files.is_empty());
        posts.sort_by_key(|post| std::cmp::Reverse(post.newest));
        posts
    }
}

/// How well a file fits a post that it could be of.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Affinity {
    /// Another file, or another copy of the part, has its place.
    None,
    /// Its place is free.
    Place,
    /// And its name is like that of others.
    Name,
    /// It is there already.
    File,
}

impl<'a> Draft<'a> {
    fn affinity(&self, key: FileKey<'a>, subject: &Subject<'a>) -> Affinity {
        if let Some(&index) = self.files.get(&key) {
            let has_part = self.post.files[index].parts.contains_key(&subject.part.number);
            return if has_part { Affinity::None } else { Affinity::File };
        }
        let is_taken = subject.file.is_some_and(|file| self.taken.contains(&file.number));
        match subject.name.is_some_and(|name| self.stems.contains(stem(name))) {
            _ if is_taken => Affinity::None,
            true => Affinity::Name,
            false => Affinity::Place,
        }
    }

    fn add(&mut self, key: FileKey<'a>, header: Header<'a>, subject: &Subject<'a>) {
        let index = *self.files.entry(key).or_insert_with(|| {
            self.post.files.push(PostFile {
                name: subject.name,
                number: subject.file.map(|file| file.number),
                subject: header.subject,
                date: header.date,
                parts: BTreeMap::new(),
                expected: subject.part.total,
            });
            self.post.files.len() - 1
        });
        self.taken.extend(subject.file.map(|file| file.number));
        self.stems.extend(subject.name.map(stem));
        // Part 0 is an introduction that some posters write; it holds nothing of the file.
        let file = &mut self.post.files[index];
        if subject.part.number > 0 {
            file.parts.entry(subject.part.number).or_insert((header.id, header.bytes));
        }
        self.post.newest = self.post.newest.max(header.number);
        self.post.date = self.post.date.or(header.date).min(header.date.or(self.post.date));
    }

    fn finish(mut self) -> Post<'a> {
        let post = &mut self.post;
        post.files.retain(|file| !file.parts.is_empty());
        post.files.sort_by_key(|file| (file.number.unwrap_or(u32::MAX), file.name));
        post.expected = post.expected.max(post.files.len() as u32);
        if post.title.is_empty() {
            let named = post.files.iter().find_map(|file| file.name);
            post.title = named.map_or("untitled", stem).to_owned();
        }
        self.post
    }
}

/// The title; where there is none, the counter of files holds them together, and without one what
/// their names have in common.
fn shared_title(subject: &Subject<'_>) -> String {
    let counts_files = subject.file.is_some_and(|file| file.total > 1);
    match subject.title.as_str() {
        "" if counts_files => String::new(),
        "" => stem(subject.name.unwrap_or_default()).to_owned(),
        title => title.to_owned(),
    }
}

/// Short, the same on every machine, and collisions do no harm.
fn key(post: &Post<'_>, by_article: bool) -> String {
    let first = post.files.first();
    let name = first.and_then(|file| file.name).unwrap_or_default();
    let article = first.filter(|_| by_article).and_then(|file| file.parts.values().next());
    let article = article.map_or("", |(id, _)| *id);
    let texts = [post.poster, &post.title, &post.expected.to_string(), name, article];
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    format!("{:016x}", fnv64(bytes))
}

/// A poster seldom posts two things at once.
const MOST_RELATIVES: usize = 8;

#[cfg(test)]
mod tests {
    use bergamot_nzb::{Limits, read};

    use super::*;
    use crate::headers::tests::overview;

    fn headers(subjects: &[(&str, &str)]) -> Headers {
        let mut headers = Headers::default();
        for (number, (poster, subject)) in (1..).zip(subjects) {
            headers.push(&overview(number, poster, subject));
        }
        headers
    }

    fn of_ann(subjects: &[&str]) -> Headers {
        headers(&subjects.iter().map(|subject| ("ann", *subject)).collect::<Vec<_>>())
    }

    #[test]
    fn files_and_parts_find_together_however_they_are_mixed() {
        let headers = of_ann(&[
            "show [2/3] - \"show.r00\" yEnc (1/2)",
            "show [1/3] - \"show.rar\" yEnc (2/2)",
            "Re: show",
            "show [1/3] - \"show.rar\" yEnc (1/2)",
            "show [2/3] - \"show.r00\" yEnc (2/2)",
            "show [3/3] - \"show.nfo\" yEnc (1/1)",
        ]);
        let posts = posts(&headers);
        let [post] = &posts[..] else { panic!("one post: {posts:?}") };
        assert_eq!((post.title.as_str(), post.poster, post.expected), ("show", "ann", 3));
        let names: Vec<_> = post.files.iter().map(|file| file.name.unwrap()).collect();
        assert_eq!(names, ["show.rar", "show.r00", "show.nfo"]);
        assert!(post.is_complete());
        assert_eq!((post.bytes(), post.newest), (5000, 6));
        assert_eq!(post.date, Some(UnixTime(1_767_225_601)), "that of the first");
    }

    #[test]
    fn what_is_missing_is_seen() {
        let post = |subjects: &[&str]| posts(&of_ann(subjects))[0].is_complete();
        assert!(post(&["\"a.rar\" yEnc (1/1)"]));
        assert!(!post(&["\"a.rar\" yEnc (1/2)"]), "a part");
        assert!(!post(&["[1/2] \"a.rar\" yEnc (1/1)"]), "a file");
        assert!(!post(&["\"a.rar\" yEnc (1/2)", "\"a.rar\" yEnc (1/2)"]), "twice the same");
    }

    #[test]
    fn what_is_posted_again_is_a_post_of_its_own() {
        let file = |part| format!("x [1/1] \"a.rar\" yEnc ({part}/2)");
        let (one, two) = (file(1), file(2));
        let headers = of_ann(&[&two, &one, &one, &two]);
        let posts = posts(&headers);
        assert!(posts.len() == 2 && posts.iter().all(Post::is_complete), "{posts:?}");
        assert_ne!(posts[0].key, posts[1].key);
        let ids: Vec<_> = posts[0].files[0].parts.values().map(|(id, _)| *id).collect();
        assert_eq!(ids, ["3@x", "4@x"]);
    }

    #[test]
    fn without_a_title_names_hold_a_post_together() {
        let headers = of_ann(&[
            "\"x.part1.rar\" yEnc (1/1)",
            "\"x.part2.rar\" yEnc (1/1)",
            "\"x.vol0+1.par2\" yEnc (1/1)",
            "\"y.part1.rar\" yEnc (1/1)",
        ]);
        let posts = posts(&headers);
        let seen: Vec<_> =
            posts.iter().map(|post| (post.title.as_str(), post.files.len())).collect();
        assert_eq!(seen, [("y", 1), ("x", 3)]);
    }

    #[test]
    fn a_counter_holds_files_of_any_name_together_and_two_posts_of_one_size_apart() {
        let headers = of_ann(&[
            "[1/3] - \"x.part1.rar\" yEnc (1/1)",
            "[1/3] - \"y.part1.rar\" yEnc (1/1)",
            "[2/3] - \"x.part2.rar\" yEnc (1/1)",
            "[2/3] - \"y.part2.rar\" yEnc (1/1)",
            "[3/3] - \"y.par2\" yEnc (1/1)",
            "[3/3] - \"readme.txt\" yEnc (1/1)",
        ]);
        let posts = posts(&headers);
        let names = |post: &Post<'_>| {
            post.files.iter().map(|file| file.name.unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&posts[0]), ["x.part1.rar", "x.part2.rar", "readme.txt"]);
        assert_eq!(names(&posts[1]), ["y.part1.rar", "y.part2.rar", "y.par2"]);
        assert_ne!(posts[0].key, posts[1].key);
    }

    #[test]
    fn names_that_mean_nothing_are_held_together_by_their_counter() {
        let subject = |number: u32| {
            format!(
                "[{number}/3] - \"{:032x}\" yEnc (1/1)",
                u128::from(number) * 0x9e37_79b9_7f4a_7c15_1234
            )
        };
        let texts: Vec<_> = (1..=3).map(subject).collect();
        let headers = of_ann(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let posts = posts(&headers);
        assert_eq!((posts.len(), posts[0].files.len()), (1, 3));
    }

    #[test]
    fn posters_and_posts_of_one_title_are_kept_apart() {
        let headers = headers(&[
            ("ann", "x [1/2] \"a.rar\" yEnc (1/1)"),
            ("bob", "x [1/2] \"a.rar\" yEnc (1/1)"),
            ("ann", "x [2/2] \"b.rar\" yEnc (1/1)"),
            ("ann", "x [1/2] \"c.rar\" yEnc (1/1)"),
        ]);
        let posts = posts(&headers);
        let seen: Vec<_> = posts.iter().map(|post| (post.poster, post.files.len())).collect();
        assert_eq!(seen, [("ann", 1), ("ann", 2), ("bob", 1)]);
        let mut keys: Vec<_> = posts.iter().map(|post| &post.key).collect();
        keys.dedup();
        assert_eq!(keys.len(), 3);
    }

    #[test]
    fn a_key_stays_while_a_post_grows() {
        let part = |n| format!("x [1/1] \"a.rar\" yEnc ({n}/3)");
        let (one, two) = (part(1), part(2));
        let before = posts(&of_ann(&[&one]))[0].key.clone();
        assert_eq!(posts(&of_ann(&["old", &one, &two]))[0].key, before);
        // Another post that comes into sight does not take its key.
        let again = "x [1/1] \"b.rar\" yEnc (1/3)";
        let two = of_ann(&[again, &one]);
        let found: Vec<_> = posts(&two).iter().map(|post| post.key.clone()).collect();
        assert!(found.len() == 2 && found[0] == before && found[1] != before, "{found:?}");
    }

    #[test]
    fn a_post_becomes_an_nzb_that_can_be_read() {
        let headers = of_ann(&[
            "a & <b> [1/2] - \"a.rar\" yEnc (1/2)",
            "a & <b> [1/2] - \"a.rar\" yEnc (2/2)",
            "a & <b> [2/2] - \"a.nfo\" yEnc (1/1)",
        ]);
        let group = GroupName::parse("alt.binaries.test").unwrap();
        let text = posts(&headers)[0].nzb(&group);
        let nzb = read(text.as_bytes(), &Limits::default()).unwrap();
        assert_eq!((nzb.files.len(), nzb.segments(), nzb.bytes()), (2, 3, 3000));
        assert!(nzb.warnings.is_empty(), "{:?}", nzb.warnings);
        assert_eq!(nzb.files[0].name(), Some("a.rar"));
        assert_eq!(nzb.files[0].segments.id(1).as_str(), "2@x");
        assert_eq!(*nzb.files[0].groups, [group]);
    }
}
