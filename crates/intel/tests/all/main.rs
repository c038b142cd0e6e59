//! Lists and labels in every format, made up and real.

mod label_feeds;
mod label_index;
mod made_up_format;
mod names_of_ofac;
mod ofac_formats;
mod official_lists;
mod plain_listings;
mod plain_listings_read_back;
mod real_labels;
mod validity;
