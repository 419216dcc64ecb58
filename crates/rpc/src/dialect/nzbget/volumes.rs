//! `servervolumes` and `resetservervolume`: downloaded bytes by server and time.

use bergamot_api::Control;
use bergamot_api::view::{DayArticles, Volume};
use bergamot_types::ServerId;
use serde::{Serialize, Serializer};

use crate::call::Call;
use crate::call::fault::Fault;
use crate::codec::reply::Reply;
use crate::dialect::nzbget::fields::{Fields, narrow, size};
use crate::dialect::nzbget::job_fields::each;

/// Which of the rings are wanted; they are long.
#[derive(Clone, Copy)]
struct Rings {
    seconds: bool,
    minutes: bool,
    hours: bool,
    days: bool,
    articles: bool,
}

struct ServerVolume<'a>(&'a Volume, Rings);

impl Serialize for ServerVolume<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(volume, wanted) = self;
        let ring = |values, wanted| each(if wanted { values } else { &[] }, Bytes);
        let mut fields = Fields::of(to);
        fields
            .put("ServerID", volume.server.map_or(0, |server| server.0))
            .put("DataTime", narrow(volume.now))
            .put("FirstDay", narrow(volume.first_day))
            .put_size(size!("TotalSize"), volume.total)
            .put_size(size!("CustomSize"), volume.custom)
            .put("CustomTime", narrow(volume.custom_since))
            .put("CountersResetTime", narrow(volume.reset))
            .put("SecSlot", narrow(volume.second))
            .put("MinSlot", narrow(volume.minute))
            .put("HourSlot", narrow(volume.hour))
            .put("DaySlot", narrow(volume.day))
            .put("BytesPerSeconds", ring(&volume.seconds, wanted.seconds))
            .put("BytesPerMinutes", ring(&volume.minutes, wanted.minutes))
            .put("BytesPerHours", ring(&volume.hours, wanted.hours))
            .put("BytesPerDays", ring(&volume.days, wanted.days));
        let articles = if wanted.articles { volume.articles.as_slice() } else { &[] };
        fields.put("ArticlesPerDays", each(articles, Articles));
        fields.end()
    }
}

struct Bytes<'a>(&'a u64);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = Fields::of(to);
        fields.put_size(size!("Size"), *self.0);
        fields.end()
    }
}

struct Articles<'a>(&'a DayArticles);

impl Serialize for Articles<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = Fields::of(to);
        fields.put("Failed", narrow(self.0.failed)).put("Success", narrow(self.0.good));
        fields.end()
    }
}

pub(crate) async fn server_volumes<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let mut arguments = call.arguments()?;
    let wanted = Rings {
        seconds: arguments.bool_or("BytesPerSeconds", true)?,
        minutes: arguments.bool_or("BytesPerMinutes", true)?,
        hours: arguments.bool_or("BytesPerHours", true)?,
        days: arguments.bool_or("BytesPerDays", true)?,
        articles: arguments.bool_or("ArticlesPerDays", true)?,
    };
    let volumes = call.control.volumes().await?;
    call.answer(&each(&volumes, |volume| ServerVolume(volume, wanted)))
}

pub(crate) async fn reset_server_volume<C: Control>(mut call: Call<'_, C>) -> Result<Reply, Fault> {
    let mut arguments = call.arguments()?;
    let server = match arguments.integer("ServerID")? {
        -1 => None,
        id => Some(ServerId(
            u16::try_from(id).map_err(|_| Fault::parameter("ServerID is not an id"))?,
        )),
    };
    let only_custom = match arguments.optional_text().unwrap_or_default().as_ref() {
        "" => false,
        counter if counter.eq_ignore_ascii_case("CUSTOM") => true,
        _ => return Err(Fault::parameter("Counter is neither empty nor CUSTOM")),
    };
    call.control.reset_volumes(server, only_custom).await?;
    call.done()
}
