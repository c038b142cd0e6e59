//! Lists and labels in every format, made up and real.

mod made_up_format;
mod ofac_formats;
mod plain_listings;
mod plain_listings_read_back;
mod real_labels;
