// Types of the API. Generated from its description: run `just generate`.

/** Answer to a check. The type describes the answer; [`print`] writes it. */
export interface CheckResponse {
    /** Identifier of this check. */
    check_id: string;
    /** Your reference from the request. */
    reference?: string | null;
    /** Your direction from the request. */
    direction?: TransferDirection | null;
    /** The address as it was submitted; if an output names the transfer, the receiver's address in canonical form. */
    address_submitted: string;
    /** Identifier of the blockchain. */
    blockchain: ChainId;
    /** Address in canonical form; for a transfer, the receiver's address. */
    address: string;
    /** The transfer that was assessed; left out of an assessment of an address. */
    transfer?: AssessedTransfer | null;
    /** Risk score, 0 to 100, with at most one decimal. */
    risk_score: Score;
    /** Risk level of the score under the policy; `unknown` where mandatory data is missing. */
    risk_level: RiskLevel;
    /** Verdict of the policy. */
    verdict: Verdict;
    /** `false` where mandatory data is missing or stale: the answer may change when the data is complete. */
    complete: boolean;
    /** Reasons for the verdict, most important first. */
    reasons: Reason[];
    /** Entity that the address belongs to, where known. */
    entity?: Entity | null;
    /** Labels of the address, each with its source and status. */
    labels: AssessedLabel[];
    /** Pairs of labels that contradict each other. */
    conflicts: Conflict[];
    /** Listings of the address itself on sanctions lists, ended ones included. */
    sanctions: AssessedListing[];
    /** Numbers of labels, conflicts and listings that are not shown one by one, because the address has more than 100 of their kind, or fewer with long texts; the strongest are shown, and all count. Left out if all are shown. */
    further?: FurtherItems | null;
    /** Components of the score. The contributions of all components sum exactly to `risk_score`. At most 100 labels and 100 flows are components of their own, the strongest; one component each has the contribution of the others. */
    scoring_components: ScoringComponent[];
    /** Components that decided a `review` or a `block`. Left out of other verdicts. */
    decisive?: Decisive | null;
    /** Origins and destinations of funds. Shares of one direction and asset sum exactly to 1. */
    exposure: Exposure[];
    /** Dealings with contracts on an account chain: own money that they exchanged or gave back, tokens and claims, and what they paid from their own. Left out without any. */
    contracts?: ContractUse | null;
    /** Addresses that are associated with the assessed address. */
    associated_wallets: AssociatedWallet[];
    /** Behavior patterns that were detected. */
    transaction_patterns: AssessedPattern[];
    /** Activity of the address over its lifetime. */
    activity: Activity;
    /** Circumstances that limit the answer and do not change the score. */
    warnings: Warning[];
    /** Status of each kind of evidence: assessed, partial, or why not. */
    coverage: Coverage;
    /** Sources that the assessment uses, with their freshness. */
    sources: AssessedSource[];
    /** Evidence that the assessment covers. */
    scope: AssessmentScope;
    /** Kind of data: `production`, `sample` for the demo data set, or `sandbox` for made-up facts. */
    environment: Environment;
    /** Identifier of the data that the assessment uses. */
    data_revision: string;
    /** Version of the risk model. */
    model_version: string;
    /** Identifier of the policy's content: equal for policies that decide alike. */
    policy_revision: string;
    /** The account on each EVM chain, of a check with the blockchain `evm`; left out of other checks. */
    chains?: ChainVerdict[] | null;
    /** Time of the assessment. */
    assessed_at: string;
    /** SHA-256 of the assessment's canonical JSON: everything in this answer except `check_id`, `reference`, `direction`, `address_submitted`, `assessed_at`, `assessment_digest`, `cached`, `processing_time_ms` and each source's `fetched_at`. */
    assessment_digest: string;
    /** True if the assessment is repeated from the cache. */
    cached: boolean;
    /** Milliseconds from the request's arrival to this answer. */
    processing_time_ms: number;
}

/** Direction of a transfer, as the caller sees it.
 *
 * | value | meaning |
 * |---|---|
 * | `deposit` | Funds come to the caller. |
 * | `withdrawal` | Funds go out from the caller. | */
export type TransferDirection = "deposit" | "withdrawal";

/** Lowercase identifier of a blockchain. The list may grow. */
export type ChainId = "btc" | "eth" | "trx" | "etc" | "bsc" | "polygon" | "arbitrum" | "optimism" | "base" | "avalanche" | "ltc" | "bch" | "bsv" | "btg" | "doge" | "dash" | "zec" | "xvg" | "sol" | "xrp" | "xmr" | "bep2" | "linea" | "scroll" | "zksync" | "polygon-zkevm" | "arbitrum-nova" | "opbnb" | "mantle" | "blast" | "gnosis" | "fantom" | "sonic" | "celo" | "cronos" | "moonbeam" | "moonriver" | "aurora" | "kaia" | "metis" | "zora" | "unichain" | "worldchain" | "berachain" | "ink" | "soneium" | "abstract" | "mode" | "manta" | "taiko" | "pulsechain" | "flare" | "ethw" | "hyperevm" | "monad" | "plasma" | "apechain" | "ronin" | "ada" | "xlm" | "ton" | "dot" | "ksm" | "tao" | "cosmos" | "osmo" | "celestia" | "dydx" | "noble" | "axelar" | "sei" | "terra" | "thor" | "kava" | "juno" | "stars" | "scrt" | "akt" | "inj" | "algo" | "near" | "xtz" | "eos" | "hbar" | "fil" | "neo" | "sui" | "apt" | "icp" | "stx" | "kas" | "other" | (string & {});

/** A transfer that was assessed. */
export interface AssessedTransfer {
    /** Identifier of the transaction; null for a withdrawal that is not sent yet. */
    transaction?: string | null;
    /** Direction of the transfer. */
    direction: TransferDirection;
    /** The transfer on an account chain; left out on chains of outputs. */
    account?: AssessedAccountTransfer | null;
    /** The withdrawal that is not sent yet; left out of other transfers. */
    planned?: AssessedPlan | null;
    /** Outputs of the transaction that make up the transfer, in order: at most 100. None on an account chain. */
    outputs: AssessedOutput[];
    /** Number of the outputs. */
    outputs_count: number;
    /** Total of the outputs, or the amount of an account chain's transfer. */
    amount: Amount;
    /** Status of the transaction. */
    status: TransferStatus;
    /** Number of known blocks from the transaction's block on, including that block; 0 without a block. */
    confirmations: number;
    /** Height of the transaction's block; null if no block holds the transaction. */
    block_height?: number | null;
    /** Time of the transaction's block; null if no block holds the transaction. */
    block_time?: string | null;
    /** Owners of the transaction's inputs, or accounts whose money the transfer was, those with the largest amounts first: at most 100. Of a withdrawal that is not sent yet, the sender that the request names. */
    senders: Sender[];
    /** Number of owners that were read. */
    senders_count: number;
    /** Funds from which `exposure` and the score are computed. */
    basis: TransferBasis;
    /** Destinations of the funds of this transfer; for withdrawals only. Shares sum exactly to 1. */
    destinations: Exposure[];
}

/** Transfer of an account chain. */
export interface AssessedAccountTransfer {
    /** Asset: `native` or the address of the token's contract. */
    asset: string;
    /** Place in the transaction, such as `log 12`, `trace 0,1`, or `index 3` where the source states only the order. */
    place: string;
    /** Payer of the transfer; null for new units. `senders` holds the accounts whose money it was. */
    from?: string | null;
    /** Receiver of the transfer. */
    to: string;
    /** Account that sent the transaction; null where it is not known. */
    initiator?: string | null;
}

/** Withdrawal that is not sent yet. */
export interface AssessedPlan {
    /** Asset: `native`, the address of the token's contract, or the text of the request on a chain whose tokens are not known. */
    asset: string;
    /** Sender that the request names; null if it names none. */
    from?: string | null;
    /** Receiver of the withdrawal. */
    to: string;
}

/** Output of an assessed transfer. */
export interface AssessedOutput {
    /** Index among the transaction's outputs, from 0. */
    index: number;
    /** Amount of the output. */
    amount: Amount;
}

/** Amount of an asset. */
export interface Amount {
    /** In base units of the asset, as a decimal string. */
    value: string;
    /** The asset's ticker; `USD` counts cents. */
    asset: string;
    /** Value in US dollars, rounded down to cents, where a price is known: for the transfer of an assessment and its senders by the price of the block's day, for other amounts by that of the day of the assessment. The value changes neither score nor verdict. */
    usd?: string | null;
    /** UTC day of the price behind `usd`, if the price is that of an earlier day. Left out otherwise. */
    price_day?: string | null;
}

/** Status of an assessed transfer's transaction.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `confirmed` | A block holds the transaction. |
 * | `unconfirmed` | The transaction is in the mempool of a node, and no block holds it yet. |
 * | `planned` | The withdrawal is not sent yet. | */
export type TransferStatus = "confirmed" | "unconfirmed" | "planned" | (string & {});

/** Owner of inputs of an assessed transfer's transaction. */
export interface Sender {
    /** Address in canonical form; null for a script or a pool without an address. */
    address?: string | null;
    /** Total of the owner's inputs. */
    amount: Amount;
    /** Category of the party to which a listing or a strong label attributes the owner; null otherwise. */
    category?: Category | null;
    /** Name of the party, where known. */
    entity?: string | null;
    /** True if the party is on a list in force. */
    listed: boolean;
}

/** Entity category; `GET /api/v1/signals` defines each. The list may grow. */
export type Category = "sanctions" | "terrorism_financing" | "csam" | "ransomware" | "human_trafficking" | "sanctioned_jurisdiction" | "special_measures" | "stolen_funds" | "darknet_market" | "phishing_drainer" | "issuer_frozen" | "darknet_service" | "fraud_shop" | "scam" | "malware" | "illicit_actor_org" | "drug_vendor" | "weapons" | "counterfeit" | "extortion_sextortion" | "fraudulent_exchange" | "illegal_service" | "mixer" | "enforcement_action" | "privacy_protocol" | "coinjoin" | "no_kyc_exchange" | "high_risk_exchange" | "p2p_exchange_high_risk" | "gambling" | "atm" | "community_report" | "blacklist_doubt" | "bridge" | "unnamed_service" | "uncategorized" | "infrastructure" | "hosting" | "vpn" | "dex" | "defi" | "seized_funds" | "hosted_wallet" | "donation" | "faucet" | "exchange" | "payment_processor" | "merchant" | "nft" | "token_contract" | "miner" | "mining_pool" | "custodian" | "staking" | (string & {});

/** Funds on which the assessment of a transfer is based.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `origins` | The origins of this transfer's funds alone: every deposit. |
 * | `receiver` | All funds that the receiver received and sent: a withdrawal that is assessed like its receiver. |
 * | `destinations` | All funds that the receiver received, and the destinations of this transfer's funds alone: a withdrawal whose own funds went to riskier destinations than the receiver's funds together. |
 * | `payment` | All funds that the receiver received and sent, and rules of the policy that the payment itself meets: a withdrawal that is not sent yet. | */
export type TransferBasis = "origins" | "receiver" | "destinations" | "payment" | (string & {});

/** Funds of one direction that came from, or went to, one party or kind of endpoint. */
export interface Exposure {
    /** Direction of the funds. */
    direction: Direction;
    /** Kind of endpoint: a category, `mining`, `bridge`, `unspent_by_subject` (the address itself holds the funds), `unspent_downstream` (an address further on the path holds them), `fee`, `returned` (funds of the address that came back to it; they were counted when they first came, and are not counted again in shares or the score), `destroyed` (funds sent to an address or script that nobody controls) or `unresolved`. */
    endpoint_type: string;
    /** Reason for which the funds were not followed to an endpoint; null where the funds were followed to an endpoint. */
    unresolved_reason?: UnresolvedReason | null;
    /** Protocol of the joint transaction that the funds passed, if the funds are scored by that transaction. */
    coinjoin?: string | null;
    /** Category by which the funds are scored: that of the endpoint, or of a label on the path that weighs more. */
    category?: Category | null;
    /** Name of the entity at the endpoint. */
    entity?: string | null;
    /** Entry of the sanctions list that names the entity; null where the entity is not listed, or lies beyond the trace's last transactions. */
    listing?: PartyListing | null;
    /** Amount of the funds. */
    amount: Amount;
    /** On an account chain, the amounts of each asset in its base units, as far as they are known: further on, only values are divided. Absent on other chains. */
    assets?: Amount[];
    /** Share of all funds of the direction without `returned` funds, as a decimal from 0 to 1; 0 for `returned` funds. */
    share: string;
    /** Part of the amount that moved in the last 90 days. */
    recent_amount: Amount;
    /** Greatest sum of the funds that was outstanding with the direct counterparty at any time, if funds went round: as much lowers the shares by which other funds are scored. Null where that is the whole amount. */
    outstanding?: Amount | null;
    /** Part of the amount that moved before the party was listed; null where the party is not listed or the day is not known. */
    before_listing?: Amount | null;
    /** Part of the amount that moved on the day of the listing or later. */
    since_listing?: Amount | null;
    /** Fewest hops to the endpoint: 1 is direct, 0 stands for funds that the address itself holds. Null if the endpoint lies beyond the trace's last transactions. */
    hops?: number | null;
    /** Number of transactions that the trace passed before it stopped; null unless the endpoint lies beyond its last transactions. The amount is then computed from the compositions (breakdowns of a transaction's funds by origin) of the transactions at which the trace stopped. */
    further_than_transactions?: number | null;
    /** True if the party is a direct counterparty. */
    direct: boolean;
    /** True if the party is on a list in force. */
    listed: boolean;
    /** `false` for funds that an unrelated party sent unsolicited, such as dust. */
    solicited: boolean;
    /** True for funds of risky or listed parties that came unasked, from senders whom the address never paid, and of which the address moved nothing. Such funds lead to a review at most. */
    untouched: boolean;
    /** True for dust: payments of negligible amounts. Dust counts for the score only if it is risky and, together with other risky unsolicited funds, exceeds the policy's limit. */
    dust: boolean;
    /** True if the funds count for the score; dust and small sums of unsolicited funds do not. */
    scored: boolean;
    /** Parts of the amount by their attributions, as minimum score rules evaluate them. Funds without a category are in none of the parts. */
    parts: ExposurePart[];
    /** Transactions that show the exposure, those of the largest path first. */
    transactions: string[];
    /** Paths with the largest amounts, from the address outwards. */
    paths: ExposurePath[];
}

/** Direction in which funds are followed.
 *
 * | value | meaning |
 * |---|---|
 * | `source` | Origins of the subject's funds. |
 * | `destination` | Destinations of the subject's funds. | */
export type Direction = "source" | "destination";

/** Reason for which funds were not followed further.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `depth_limit` | The trace reached its largest number of hops. |
 * | `below_threshold` | The share and the amount of the funds are both below the policy's thresholds for following. |
 * | `trace_limit` | The trace read as many inputs and outputs as its budget allows. |
 * | `conversion` | Several assets were exchanged at once and no price is known. |
 * | `unknown_origin` | The funds come from before the first known block. | */
export type UnresolvedReason = "depth_limit" | "below_threshold" | "trace_limit" | "conversion" | "unknown_origin" | (string & {});

/** The entry of a sanctions list that names a party. */
export interface PartyListing {
    /** Name of the list. */
    list_name: string;
    /** Identifier of the list. */
    list: ListId;
    /** Sanctions programs under which the party is listed. */
    programs: string[];
    /** Identifier of the entity on the list. */
    entity_id: string;
    /** Day of the listing; null where the day is not known. */
    listed_on?: string | null;
}

/**  */
export type ListId = string;

/** Part of an exposure whose funds have the same attributions. */
export interface ExposurePart {
    /** Amount in base units, as a decimal string. */
    amount: string;
    /** Part of the amount that moved in the last 90 days. */
    recent_amount: string;
    /** Part of the amount that was outstanding at most, as a decimal string; null where that is the whole amount. */
    outstanding?: string | null;
    /** Part of the amount that moved since the party was listed; null where the party is not listed or the day is not known. */
    since_listing?: string | null;
    /** True if the funds count for the score. */
    scored: boolean;
    /** Attributions: that of the endpoint, and those of labels on the path. */
    claims: RuleClaim[];
}

/** One attribution of funds. */
export interface RuleClaim {
    /** Category of the party. */
    category: Category;
    /** Strength of the attribution. */
    tier: Tier;
    /** Hops between the address and the party; 1 is direct. Null if the party lies beyond the trace's last transactions. */
    hops?: number | null;
    /** True if the party is a direct counterparty. */
    direct: boolean;
    /** True if the party is on a list in force. */
    listed: boolean;
    /** Confidence of the attribution, in percent. */
    confidence?: Confidence;
    /** True if the claim is a joint transaction that the funds passed, and not a label of an address. */
    joint?: boolean;
    /** True if the claim is risky and nothing shows that the address asked for the funds. Such claims lead to a review at most, and rules do not count their funds as recent. */
    unasked?: boolean;
    /** True if the funds came directly from the party, and the address had sent the party at least as much before. */
    paid_back?: boolean;
}

/** The strength of a piece of evidence, strongest first.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `official_list` | An official sanctions list. |
 * | `on_chain_proof` | A cryptographic or on-chain fact: the same key, or a freeze by an asset's issuer. |
 * | `investigation` | An investigation: curated tag packs, explorers' name tags, co-spend clusters. |
 * | `community` | Users' reports and scraped lists. |
 * | `heuristic` | Heuristics: change links, deposit-address reuse. |
 * | `behavior` | Behaviour alone. | */
export type Tier = "official_list" | "on_chain_proof" | "investigation" | "community" | "heuristic" | "behavior" | (string & {});

/** Percent. */
export type Confidence = number;

/** Path that funds took. */
export interface ExposurePath {
    /** Amount that took the path. */
    amount: Amount;
    /** Hops of the path, the address's own transaction first. */
    steps: PathStep[];
}

/** One hop of a path. */
export interface PathStep {
    /** Blockchain of the transaction, if it is another one than that of the checked address: the step is behind a bridge. Absent on the same blockchain. */
    blockchain?: string | null;
    /** The transaction. */
    transaction: string;
    /** Address on the other side of the transaction; null if the party has no address, or if there is no party: newly mined coins, a fee. */
    address?: string | null;
    /** Time of the transaction's block. */
    time: string;
    /** Amount that the party paid into the transaction, or received from the transaction, in base units, as a decimal string. The amount includes funds that did not take this path. Null if there is no party. */
    amount?: string | null;
    /** Asset of the amount on an account chain: `native` or the address of the token's contract. Absent on other chains. */
    asset?: string | null;
    /** Place of the transfer in its transaction on an account chain, such as `log 12` or `trace 0,1`. Absent if it is not known, and on other chains. */
    place?: string | null;
    /** Attribution of the party; null if none is known. */
    label?: StepLabel | null;
    /** On an account chain, the contracts at which the party got the asset for its own money since the step before, in the order of the chain: the funds reached it in another asset, or by an earlier payment that a contract gave back. Absent without any. */
    via?: StepVia[];
}

/** Attribution of a party on a path: the attribution that ends the trace, or else the riskiest label of its address. */
export interface StepLabel {
    /** Category of the party. */
    category: Category;
    /** Name of the entity. */
    entity?: string | null;
    /** Strength of the attribution. */
    tier: Tier;
    /** Confidence of the attribution, in percent. */
    confidence: Confidence;
    /** True if the party is on a list in force. */
    listed: boolean;
}

/** A contract that left a party on a path its own money. */
export interface StepVia {
    /** Address of the contract. */
    address: string;
    /** Name of the contract by lists and labels; null if it has none. */
    entity?: string | null;
    /** The transaction. */
    transaction: string;
    /** Asset that the party gave, if the contract exchanged it; null if the contract gave money back. */
    gave?: string | null;
}

/** 0 to 100 with at most one decimal. */
export type Score = number;

/** Risk level of a score.
 *
 * | value | meaning |
 * |---|---|
 * | `unknown` | Mandatory data is missing, so that a low score is not conclusive. |
 * | `low` | Score below the threshold of `medium`. |
 * | `medium` | Score from the threshold of `medium`. |
 * | `high` | Score from the threshold of `high`. |
 * | `severe` | Score from the threshold of `severe`. | */
export type RiskLevel = "unknown" | "low" | "medium" | "high" | "severe";

/** Verdict of a policy on an address.
 *
 * | value | meaning |
 * |---|---|
 * | `allow` | The score is below the review threshold, and all mandatory data is present. |
 * | `indeterminate` | Mandatory data is missing or stale: do not treat this as `allow`. |
 * | `review` | The score reached the review threshold: a person should decide. |
 * | `block` | The score reached the block threshold. | */
export type Verdict = "allow" | "indeterminate" | "review" | "block";

/** A reason for the verdict. */
export interface Reason {
    /** Stable identifier for programs. New identifiers may be added. */
    code: string;
    /** Explanation for people. */
    message: string;
}

/** Entity that an address belongs to. */
export interface Entity {
    /** Source or list, and the entity's identifier in that source or list. */
    id: string;
    /** Name of the entity. */
    name: string;
    /** Category of the entity. */
    category: Category;
    /** True if the entity is a virtual asset service provider (VASP); null if that property is not known. */
    is_vasp?: boolean | null;
    /** ISO 3166 code of the entity's country; null where the country is not known. */
    country?: string | null;
}

/** A label with its status in the assessment. */
export interface AssessedLabel {
    /** Category that the label states. */
    category: Category;
    /** Name of the entity. */
    entity?: string | null;
    /** Strength of the evidence. */
    tier: Tier;
    /** Confidence of the claim, in percent. */
    confidence: Confidence;
    /** Source from which the label was imported. */
    source: SourceId;
    /** First publisher of the claim. Labels that repeat a claim of one upstream count once. */
    upstream: string;
    /** Author of the label, where known. */
    author?: string | null;
    /** The source's own word for the category. */
    term?: string | null;
    /** Reason that the source gives. */
    reason?: string | null;
    /** Reference for the claim, mostly a URL. */
    reference?: string | null;
    /** First day on which the label is valid. */
    valid_from?: string | null;
    /** First day on which the label is no longer valid. */
    valid_until?: string | null;
    /** Status of the label in the assessment. */
    status: LabelStatus;
}

/**  */
export type SourceId = string;

/** Status of a label in an assessment.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `in_force` | The label counts. |
 * | `duplicate` | Another label makes the same claim from the same upstream source, at least as strongly, and counts instead. |
 * | `overruled` | Stronger evidence contradicts the label. |
 * | `contradicted_by_list` | The label cites a sanctions list that does not, or no longer, name the address. |
 * | `listing_ended` | The label rests on a sanctions listing of the address, and every listing of the address has ended. |
 * | `not_in_force` | The day is outside the label's validity. |
 * | `unowned` | Nobody controls the address, which no label can attribute to anybody. | */
export type LabelStatus = "in_force" | "duplicate" | "overruled" | "contradicted_by_list" | "listing_ended" | "not_in_force" | "unowned" | (string & {});

/** Two labels that contradict each other. */
export interface Conflict {
    /** Category of the risky label. */
    risky_category: Category;
    /** Source of the risky label. */
    risky_source: SourceId;
    /** Category of the benign label. */
    benign_category: Category;
    /** Source of the benign label. */
    benign_source: SourceId;
    /** Resolution of the conflict. */
    resolution: ConflictResolution;
}

/** Resolution of a conflict between labels.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `risky_counts` | The risky label is the stronger evidence and counts. |
 * | `risky_overruled` | The benign label is the stronger evidence; the risky label does not count. |
 * | `risky_counts_without_block` | The labels are equally strong: the risky label counts, but cannot cause a block. | */
export type ConflictResolution = "risky_counts" | "risky_overruled" | "risky_counts_without_block" | (string & {});

/** A listing of the address itself. */
export interface AssessedListing {
    /** Identifier of the list. */
    list: ListId;
    /** Name of the list. */
    list_name: string;
    /** Effect of the list under the policy. */
    effect: ListEffect;
    /** Status of the listing. */
    status: ListingStatus;
    /** Identifier of the entity on the list. */
    entity_id: string;
    /** Primary name of the entity. */
    entity: string;
    /** Other names of the entity. */
    aliases: Alias[];
    /** Sanctions programs under which the entity is listed. */
    programs: string[];
    /** Number by which the publisher refers to the entry, such as `ASO 12/24`. */
    order_number?: string | null;
    /** Law, regulation or decision that the entry rests on. */
    legal_basis?: string | null;
    /** Address of the publisher's page or document about the entry. */
    official_link?: string | null;
    /** Documents and numbers by which the list identifies the entity, such as `Passport 040070827`. */
    identifiers: string[];
    /** Remarks of the list on the entity and the address; the sentence that names the address, if the list states the address in free text only. */
    remarks?: string | null;
    /** Asset code of the list, such as `XBT`. */
    asset_code: string;
    /** Address as the list prints it. */
    address_as_published: string;
    /** Date on which the entity was listed, as the list states it. */
    entity_listed_on?: string | null;
    /** Date of the first publication known to hold the address; null where the oldest known publication already holds the address. */
    listed_on?: string | null;
    /** Date of the first publication without the address. */
    delisted_on?: string | null;
    /** First day on which the listing is not valid by its own terms. */
    expires_on?: string | null;
    /** Reason for which the listing ended, if the listing has ended. */
    ended_reason?: EndedReason | null;
    /** Source from which the listing was imported. */
    source: SourceId;
}

/** Effect of a sanctions list.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `blocking` | An active listing gives the score 100 and the verdict `block`; no other evidence weakens such a listing. |
 * | `advisory` | An active listing raises the score to the review threshold. | */
export type ListEffect = "blocking" | "advisory" | (string & {});

/** Status of a listing on a given day.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `active` | In force. |
 * | `recently_expired` | Expired by its own terms fewer than 90 days ago. |
 * | `expired` | Expired by its own terms 90 days ago or earlier. |
 * | `delisted` | A later publication dropped the listing. |
 * | `not_yet_listed` | Not yet in force. | */
export type ListingStatus = "active" | "recently_expired" | "expired" | "delisted" | "not_yet_listed" | (string & {});

/** Another name of a listed entity. */
export interface Alias {
    /** The name. */
    name: string;
    /** The list's word for the kind, such as `A.K.A.`. */
    kind: string;
    /** True if the list itself calls the name a weak alias. */
    weak: boolean;
}

/** Reason for which a listing is no longer in force.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `delisted` | A later publication dropped the listing. |
 * | `expired` | The listing expired by its own terms. |
 * | `renewed` | The list renewed the listing: another listing of the same entry is in force. | */
export type EndedReason = "delisted" | "expired" | "renewed" | (string & {});

/** Numbers of items that an assessment does not show one by one. */
export interface FurtherItems {
    /** Labels of the address beyond `labels`. */
    labels: number;
    /** Conflicts beyond `conflicts`. */
    conflicts: number;
    /** Listings of the address beyond `sanctions`. */
    sanctions: number;
}

/** A component of the score. */
export interface ScoringComponent {
    /** Kind of evidence. */
    kind: ComponentKind;
    /** Identifier of the minimum score rule that fired; `/signals` lists the rules. Null for components of other kinds. */
    rule?: string | null;
    /** Behavior pattern, for the kind `behavior`; null for other kinds. */
    pattern?: Pattern | null;
    /** Points that the component contributes to the score. All contributions sum exactly to `risk_score`. */
    contribution: Score;
    /** Score that this evidence alone would give. */
    standalone_score: Score;
    /** Explanation for people. */
    detail: string;
    /** Category of the party or label. */
    category?: Category | null;
    /** Name of the entity. */
    entity?: string | null;
    /** Strength of the evidence. */
    tier?: Tier | null;
    /** Severity of the category or pattern under the policy, 0 to 100. */
    severity?: number | null;
    /** Confidence of the evidence, in percent. */
    confidence?: Confidence | null;
    /** Direction of the funds. */
    direction?: Direction | null;
    /** Hops between the address and the party; 1 is direct. */
    hops?: number | null;
    /** Share of all funds of the direction, as a decimal from 0 to 1. */
    share?: string | null;
    /** Amount of the funds. */
    amount?: Amount | null;
    /** Source of the evidence. */
    source?: SourceId | null;
    /** References to the evidence. */
    evidence: EvidenceReference[];
}

/** Kind of evidence of a component.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `sanctions` | A sanctions list names the address. |
 * | `ownership` | A label of the address itself. |
 * | `association` | An address of the same key or co-spend cluster. |
 * | `exposure` | Funds received from, or sent to, a party. |
 * | `behavior` | A behavior pattern. |
 * | `minimum_score_rule` | A minimum score rule: such a rule raises the score to the threshold of the rule's verdict. |
 * | `incomplete` | Mandatory data is missing or stale. | */
export type ComponentKind = "sanctions" | "ownership" | "association" | "exposure" | "behavior" | "minimum_score_rule" | "incomplete" | (string & {});

/** A pattern of behavior. Later versions may add patterns.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `mixer_use` | Pays into or is paid out of a mixing service. |
 * | `address_poisoning` | Sends dust or worthless transfers from addresses made to look like a victim's counterparties. |
 * | `mixer_funding` | The first payment above dust to the account came from a mixing service. |
 * | `structuring` | At least 5 payments within 24 hours that are each at most 10 % below the same threshold. |
 * | `layering` | Funds pass at least 3 unattributed owners in a row, each of which passed at least 90 % of all that it ever received on to the next within 3 days, by its only payment and to nobody else. |
 * | `peel_chain` | Funds pass at least 5 transactions in a row, each within 12 hours of the one before, that split off a payment of at most 30 % and leave the rest at another address. |
 * | `rapid_pass_through` | At least 2 payments, and at least 80 % of all funds received, are passed on within an hour. |
 * | `gather_scatter` | At least 5 owners pay within 24 hours, and at least 80 % as much is paid to at least 5 others until 48 hours later. |
 * | `scatter_gather` | At least 5 owners are paid, and pay at least 80 % as much to the same further owner, all within 7 days. |
 * | `cycle` | Funds return over 2 to 5 other owners within 7 days, each payment at least half as large as the one before and at most twice. |
 * | `coinjoin_use` | Takes part in joint transactions that hide who paid whom (generic, Wasabi, Whirlpool, JoinMarket). |
 * | `dusting` | Dust is sent to at least 10 owners within 24 hours. |
 * | `fan_in` | At least 10 owners pay within 24 hours. |
 * | `fan_out` | At least 10 owners are paid within 24 hours. |
 * | `dormant_reactivation` | At least half of the balance moves after a year or more without activity. |
 * | `deposit_forwarding` | Deposit address: at least 2 owners pay it, and everything that it ever paid went to one custodial service. |
 * | `peel_step` | Transaction with one input and two outputs, of which the smaller one has at most 30 % of both. |
 * | `consolidation` | Transaction that joins at least 5 inputs of one owner in one output. |
 * | `batch_payout` | Transaction by which one owner pays at least 5 others. |
 * | `self_transfer` | Transaction by which an owner pays nobody but itself. |
 * | `joint_transaction` | Transaction that several parties made together to hide who paid whom. |
 * | `op_return` | Transaction with an output that holds data and no funds. |
 * | `dust` | Transaction with an output of dust. | */
export type Pattern = "mixer_use" | "address_poisoning" | "mixer_funding" | "structuring" | "layering" | "peel_chain" | "rapid_pass_through" | "gather_scatter" | "scatter_gather" | "cycle" | "coinjoin_use" | "dusting" | "fan_in" | "fan_out" | "dormant_reactivation" | "deposit_forwarding" | "peel_step" | "consolidation" | "batch_payout" | "self_transfer" | "joint_transaction" | "op_return" | "dust" | (string & {});

/** Reference to a piece of evidence. */
export interface EvidenceReference {
    /** Kind of the reference. */
    kind: EvidenceKind;
    /** Identifier of the evidence. */
    reference: string;
}

/** Kind of a reference to evidence.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `list_entry` | An entry of a list: the list, the entity's identifier and the address as published. |
 * | `label` | A label's source and upstream. |
 * | `address` | Another address: chain and address. |
 * | `transaction` | A transaction. |
 * | `source` | A source. | */
export type EvidenceKind = "list_entry" | "label" | "address" | "transaction" | "source" | (string & {});

/** A smallest set of components without which the verdict would be milder, with the answer without them.
 *
 * The verdict stays as long as any of them is there. Behavior patterns change no verdict and are in no set. */
export interface Decisive {
    /** The components, by their positions in `scoring_components`, counted from 0. */
    components: number[];
    /** Risk score without them. */
    risk_score: Score;
    /** Verdict without them. */
    verdict: Verdict;
    /** True if no set with fewer components exists; false if so many components count that only their order was searched: then each of the set is needed, and a set with fewer components may exist. */
    smallest: boolean;
}

/** Dealings of the address with contracts, and what it holds in them. */
export interface ContractUse {
    /** Own money of the address that was exchanged, or that contracts gave back, the largest sums first, at most 10, of the payments that a check reads one by one. It is no income: it keeps its own history, and what the contract holds is not the address's. */
    kept: KeptMoney[];
    /** Number of further ones. */
    further_kept: number;
    /** Tokens and claims of the address that followed money backs, the largest sums first, at most 10. They change no score: their money counts when a contract pays it out. */
    holdings: ContractHolding[];
    /** Number of tokens and claims that are not in `holdings`. */
    further_holdings: number;
    /** Money that contracts paid beyond what anybody is known to have put in for the address, by unit. It has the origins of what is left in the contract. */
    contract_pool: ContractPool[];
    /** Transfers between the address and parties on sanctions lists of tokens whose money is not followed, since the listing where its day is known; at most 10. */
    token_dealings: TokenDealing[];
}

/** Own money that a contract exchanged or gave back. */
export interface KeptMoney {
    /** The way in which the money was kept. */
    way: KeptWay;
    /** The contract that paid, or the person with whom the address exchanged within one transaction. */
    via: ContractParty;
    /** Amounts that the address gave in exchange. */
    gave: Amount[];
    /** Amounts that it got. */
    got: Amount[];
    /** Number of payments by the contract. */
    payments: number;
    /** Explanation for people. */
    detail: string;
    /** Transactions with the largest payments, at most 5. */
    transactions: string[];
}

/** The way in which a contract left a subject its own money.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `exchanged` | The contract gave another asset for it. |
 * | `returned` | The contract gave back what the subject had put in. | */
export type KeptWay = "exchanged" | "returned" | (string & {});

/** A contract. */
export interface ContractParty {
    /** Address of the contract. */
    address: string;
    /** Name of the contract by lists and labels; null if it has none. */
    entity?: string | null;
}

/** A token or claim with the money that backs it. */
export interface ContractHolding {
    /** Kind of the holding. */
    kind: HoldingKind;
    /** Address of the token's contract; null for a claim. */
    token?: string | null;
    /** The contract into which the money was paid; null if it is not known. */
    contract?: ContractParty | null;
    /** The money, by asset. */
    backing: HoldingBacking[];
    /** Explanation for people. */
    detail: string;
}

/** Kind of a holding beside scored assets.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `token` | A token outside the table of scored assets, such as a receipt for a deposit. |
 * | `claim` | A claim on what a contract holds, without a token. | */
export type HoldingKind = "token" | "claim" | (string & {});

/** Money in one asset that backs a holding. */
export interface HoldingBacking {
    /** Amount of the money. */
    amount: Amount;
    /** Share of the amount that is of severe categories, as a decimal from 0 to 1. */
    severe_share: string;
    /** False for what the address put in; true for what others put in for it, or paid for the token. Anybody can put in for anybody: such money is received only when it is paid out. */
    of_others: boolean;
}

/** Money that contracts paid beyond what anybody is known to have put in for the address. */
export interface ContractPool {
    /** The sum. */
    amount: Amount;
    /** Share of all that the address received in the unit, as a decimal from 0 to 1. */
    share: string;
    /** Transactions with the largest payments, at most 5. */
    transactions: string[];
}

/** Transfers of tokens with a listed party in one direction. */
export interface TokenDealing {
    /** Address of the party. */
    party: string;
    /** Name of the party. */
    entity?: string | null;
    /** Category of the party. */
    category: Category;
    /** Direction of the tokens. */
    direction: Direction;
    /** True if the address sent one of the transactions: then the rule `listed_token_dealing` fires, except for services. */
    initiated: boolean;
    /** Addresses of the tokens' contracts, at most 5. */
    tokens: string[];
    /** The newest of the transactions, at most 5. */
    transactions: string[];
}

/** Address that is associated with the assessed address. */
export interface AssociatedWallet {
    /** Identifier of the associated address's blockchain. */
    blockchain: ChainId;
    /** Address in canonical form. */
    address: string;
    /** Relation to the assessed address. */
    relation: Relation;
    /** Heuristic that associates the address; `/signals` defines each heuristic. */
    heuristic: string;
    /** Confidence of the association, in percent. */
    confidence: Confidence;
    /** Categories of the associated address's labels and listings. */
    categories: Category[];
    /** True if the associated address is on a list in force. */
    listed: boolean;
    /** Name of the entity, where known. */
    entity?: string | null;
    /** Transactions that show the association, at most 20: the co-spends that connect both addresses, or the largest payments between them. */
    transactions: string[];
    /** Time of the first transaction that shows the association. */
    first_seen?: string | null;
    /** Time of the last transaction that shows the association. */
    last_seen?: string | null;
    /** Amounts that moved between both addresses, in both directions together. */
    amounts: Amount[];
    /** Amounts that the assessed address received from the associated address. */
    received: Amount[];
    /** Amounts that the assessed address sent to the associated address. */
    sent: Amount[];
}

/** Relation of an associated address.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `same_owner` | One party controls both addresses. |
 * | `possible_owner` | One party may control both addresses. |
 * | `service_deposit` | A deposit address at a service. |
 * | `funder` | Funded the first transactions of the assessed address. |
 * | `counterparty` | Sent funds to the assessed address, or received funds from the assessed address. |
 * | `same_key` | One key controls both addresses. |
 * | `deployer` | Created the assessed address, which is a contract. |
 * | `deployed` | A contract that the assessed address created. |
 * | `same_deployer` | A contract that the creator of the assessed address created too. |
 * | `resource_lender` | Lends the assessed address resources that pay for its transactions (energy or bandwidth of TRON). |
 * | `resource_borrower` | Borrows such resources from the assessed address. | */
export type Relation = "same_owner" | "possible_owner" | "service_deposit" | "funder" | "counterparty" | "same_key" | "deployer" | "deployed" | "same_deployer" | "resource_lender" | "resource_borrower" | (string & {});

/** Behavior pattern of the address's owner: of its co-spend cluster, or of the address itself if the address has no cluster. */
export interface AssessedPattern {
    /** Identifier of the pattern; `/signals` defines each pattern. */
    pattern: Pattern;
    /** Role of the owner in the pattern. */
    role: PatternRole;
    /** The pattern in one sentence. */
    description: string;
    /** True if the pattern counts for the score. */
    scored: boolean;
    /** Reason for which the pattern does not count: `victim` (the owner suffered the pattern), `service` (services behave like this), `regular_activity` (the owner shows the pattern day after day, as businesses do), `little_received` (the owner received too little by the pattern), `paid_into_only` (the owner only paid into the pattern), `counted_as_exposure` (the funds are scored as exposure), `counted_once` (the pattern counts in another role), `form_of_transaction` (a form of transactions has no risk by itself). Null where the pattern counts. */
    unscored_reason?: UnscoredReason | null;
    /** Points that the pattern contributes to the score: the contribution of the component of kind `behavior` with the same `pattern`. Patterns never change a verdict: they contribute 0 where the other evidence already has the highest score of its verdict, or where severe funds without decay decide the score. */
    contribution: Score;
    /** Confidence of the detection in percent, the highest of all occurrences. The confidence grades how clear the pattern is and is not a probability. */
    confidence: Confidence;
    /** Number of occurrences: windows of time, chains, cycles, payments or transactions. */
    count: number;
    /** Time of the first transaction that shows the pattern. */
    first_seen: string;
    /** Time of the last transaction that shows the pattern. */
    last_seen: string;
    /** Funds of the owner that took part in the pattern. */
    amount: Amount;
    /** Share of the funds that took part in all funds that the owner sent (role `actor`) or received (other roles, and `actor` of `cycle`, `gather_scatter` and `rapid_pass_through`) in the transactions that were read; a decimal from 0 to 1. */
    share: string;
    /** The occurrence with the largest amount, which the sentence describes. The sentences of `rapid_pass_through`, `mixer_use`, `coinjoin_use` and of forms of transactions sum up all occurrences. */
    largest: LargestOccurrence;
    /** Transactions that show the pattern, at most 20, in the order of the chain; the owner's transactions are preferred. */
    transactions: string[];
}

/** Role of the subject's owner in a pattern.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `actor` | The owner carries the pattern out. |
 * | `recipient` | The owner is paid by the pattern's transactions. |
 * | `victim` | The owner is the victim of the pattern; never scored. | */
export type PatternRole = "actor" | "recipient" | "victim" | (string & {});

/** Reason for which a pattern does not count for the score.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `victim` | The owner was the victim. |
 * | `service` | The owner is a service, and services behave like this. |
 * | `regular_activity` | The owner shows the pattern day after day, as businesses do. |
 * | `little_received` | The owner received only a small amount, which anybody can send to anybody. |
 * | `paid_into_only` | The owner only paid into the pattern: others may have carried the pattern out. |
 * | `counted_as_exposure` | The funds are scored as exposure. |
 * | `counted_once` | The pattern counts in another role. |
 * | `form_of_transaction` | The pattern describes a form of transaction that has no risk by itself. |
 * | `contract` | The account is a contract, which moves money of its users. | */
export type UnscoredReason = "victim" | "service" | "regular_activity" | "little_received" | "paid_into_only" | "counted_as_exposure" | "counted_once" | "form_of_transaction" | "contract" | (string & {});

/** The occurrence of a pattern with the largest amount. Figures that the pattern does not have are null. */
export interface LargestOccurrence {
    /** Funds of the owner that took part in the occurrence. */
    amount: Amount;
    /** Number of distinct owners on the other side of the payments, or of intermediaries; for a victim of `dusting`, of all receivers of the dust. */
    parties?: number | null;
    /** Number of payments of a `structuring`. */
    payments?: number | null;
    /** Number of steps of a `peel_chain`, or of owners of a `layering` run or of a `cycle`. */
    length?: number | null;
    /** Time from the first transaction to the last, in seconds; for `dormant_reactivation` the length of the pause, for `rapid_pass_through` the longest time that a payment stayed. */
    duration_seconds?: number | null;
    /** Threshold below which the payments of a `structuring` stay. */
    threshold?: Amount | null;
    /** Protocol of a joint transaction. */
    coinjoin?: string | null;
}

/** Activity of an address over its lifetime. */
export interface Activity {
    /** Presence of the address on its chain. */
    status: ActivityStatus;
    /** Time of the first block in which the address appears. */
    first_seen?: string | null;
    /** Time of the last block in which the address appears. */
    last_seen?: string | null;
    /** Counts of transfers. */
    counts?: ActivityCounts | null;
    /** Total received, by asset. */
    in: Amount[];
    /** Total sent, by asset. */
    out: Amount[];
    /** Balance, by asset. */
    balance: Amount[];
}

/** Presence of an address on its chain.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `seen` | The address appears in at least one block. |
 * | `none` | The address appears in no block. Absence from the chain does not mean that the address carries no risk. |
 * | `not_assessed` | No source reads the chain, or the history is not complete. | */
export type ActivityStatus = "seen" | "none" | "not_assessed" | (string & {});

/** Counts of transfers. */
export interface ActivityCounts {
    /** Incoming transfers. */
    transfers_in: number;
    /** Outgoing transfers. */
    transfers_out: number;
}

/** Circumstance that limits the answer and does not change the score. */
export interface Warning {
    /** Stable identifier for programs. New identifiers may be added. */
    code: string;
    /** Explanation for people. */
    message: string;
}

/** Coverage of an assessment, by kind of evidence. */
export interface Coverage {
    /** Sanctions lists. */
    sanctions: CoverageBlock;
    /** Labels of the address itself. */
    labels: CoverageBlock;
    /** Addresses of the same key and co-spend clusters. */
    association: CoverageBlock;
    /** Flows of funds. */
    exposure: CoverageBlock;
    /** Behavior patterns. */
    behavior: CoverageBlock;
}

/** Coverage of one kind of evidence. */
export interface CoverageBlock {
    /** Status of the coverage. */
    status: CoverageStatus;
    /** Explanation for people. */
    detail: string;
}

/** Status of the coverage of one kind of evidence.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `assessed` | All data was assessed. |
 * | `partial` | A part of the data was assessed, or the data is stale. |
 * | `not_assessed` | Nothing was assessed: no source of such data is configured. |
 * | `unavailable` | Nothing was assessed: the data should be present and is missing. |
 * | `not_applicable` | The chain has no data of this kind. | */
export type CoverageStatus = "assessed" | "partial" | "not_assessed" | "unavailable" | "not_applicable" | (string & {});

/** A source of data with its freshness. */
export interface AssessedSource {
    /** Name of the source. */
    id: SourceId;
    /** Kind of data. */
    kind: SourceKind;
    /** Sanctions lists in the source's newest publication. */
    lists: ListId[];
    /** Date of issue of the source's newest publication; with `as_of`, of the newest publication up to that day. For prices, the newest day with a price. */
    published_at?: string | null;
    /** Time at which the newest publication was last fetched or confirmed to be unchanged; null if the source was never fetched. */
    fetched_at?: string | null;
    /** True if the source is fetched on a schedule, and nothing was ever imported of it. Left out otherwise. */
    never_fetched?: boolean;
    /** SHA-256 of the source's newest publication; empty if it was never fetched. */
    digest: string;
    /** Number of entries; for a chain, number of known blocks. */
    entries: number;
    /** True if the policy requires the source. */
    mandatory: boolean;
    /** True if the source is older than the policy permits. */
    stale: boolean;
    /** True if the source belongs to the demo data set. */
    sample: boolean;
    /** Numbers of entries that no check of a chain can match, by the chain that they name: their texts are no addresses of it. Left out if there are none. */
    unmatched?: Record<string, number>;
    /** The newest known block, where the source is a chain. */
    latest_block?: LatestBlock | null;
}

/** Kind of data that a source provides.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `sanctions` | Sanctions listings. |
 * | `labels` | Labels. |
 * | `prices` | Prices in US dollars. |
 * | `chain` | Blocks of a chain. | */
export type SourceKind = "sanctions" | "labels" | "prices" | "chain" | (string & {});

/** The newest known block of a chain. */
export interface LatestBlock {
    /** Height of the block. */
    height: number;
    /** Hash of the block. */
    hash: string;
    /** Time in the block's header. */
    time: string;
    /** Height of the first known block of the chain. Funds from earlier blocks have no known origin. */
    start_height: number;
    /** Way in which the source reads the chain. */
    ingest_mode: IngestMode;
}

/** Way in which a source reads a chain.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `ingested` | Every block is recorded. |
 * | `on_demand` | Histories of single addresses are fetched on demand. | */
export type IngestMode = "ingested" | "on_demand" | (string & {});

/** Evidence that an assessment covers.
 *
 * | value | meaning |
 * |---|---|
 * | `full` | Lists, labels and flows of funds on the chain. |
 * | `lists_and_labels` | Lists and labels only: flows of funds are not known. | */
export type AssessmentScope = "full" | "lists_and_labels";

/** Kind of data.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `production` | Real data. |
 * | `sample` | The demo data set. |
 * | `sandbox` | The sandbox, whose answers are chosen by the request. | */
export type Environment = "production" | "sample" | "sandbox" | (string & {});

/** Check of an account on one of several chains. */
export interface ChainVerdict {
    /** Identifier of the blockchain. */
    blockchain: ChainId;
    /** Verdict of the policy. */
    verdict: Verdict;
    /** Risk score, 0 to 100. */
    risk_score: Score;
    /** Risk level of the score under the policy. */
    risk_level: RiskLevel;
    /** `false` if mandatory data is missing or stale. */
    complete: boolean;
    /** Evidence that the assessment covers: `lists_and_labels` if flows of funds were not assessed. */
    scope: AssessmentScope;
    /** Kinds of evidence that were assessed, in whole or in part, such as `sanctions`. */
    assessed: string[];
    /** Kinds of evidence that were not assessed, such as `exposure`. */
    not_assessed: string[];
    /** Digest of the assessment that a check on this chain gives. */
    assessment_digest: string;
}

/** Request to check one address. */
export interface CheckRequest {
    /** Blockchain: its identifier (`btc`, `eth`, `trx` and others) or a well-known name, in any letter case; `evm` for every EVM chain. */
    blockchain: string;
    /** Address in any form that the blockchain allows. */
    address: string;
    /** Your own reference, at most 128 characters; repeated in the answer. */
    reference?: string | null;
    /** Direction of the planned transfer; repeated in the answer, without effect on the assessment. */
    direction?: TransferDirection | null;
}

/** Answer to a check of many addresses. The type describes the answer, which is written piece by piece. */
export interface AddressesResponse {
    /** The answer of each check, or its problem, in the order of the request. */
    results: CheckResult[];
}

/** Result of one of many checks: the fields of an answer, of which `check_id` is one, or those of a problem, of which `code` is one. */
export interface CheckResult {
    /** Identifier of this check. */
    check_id?: string;
    /** Your reference from the request. */
    reference?: string | null;
    /** Your direction from the request. */
    direction?: TransferDirection | null;
    /** The address as it was submitted; if an output names the transfer, the receiver's address in canonical form. */
    address_submitted?: string;
    /** Identifier of the blockchain. */
    blockchain?: ChainId;
    /** Address in canonical form; for a transfer, the receiver's address. */
    address?: string;
    /** The transfer that was assessed; left out of an assessment of an address. */
    transfer?: AssessedTransfer | null;
    /** Risk score, 0 to 100, with at most one decimal. */
    risk_score?: Score;
    /** Risk level of the score under the policy; `unknown` where mandatory data is missing. */
    risk_level?: RiskLevel;
    /** Verdict of the policy. */
    verdict?: Verdict;
    /** `false` where mandatory data is missing or stale: the answer may change when the data is complete. */
    complete?: boolean;
    /** Reasons for the verdict, most important first. */
    reasons?: Reason[];
    /** Entity that the address belongs to, where known. */
    entity?: Entity | null;
    /** Labels of the address, each with its source and status. */
    labels?: AssessedLabel[];
    /** Pairs of labels that contradict each other. */
    conflicts?: Conflict[];
    /** Listings of the address itself on sanctions lists, ended ones included. */
    sanctions?: AssessedListing[];
    /** Numbers of labels, conflicts and listings that are not shown one by one, because the address has more than 100 of their kind, or fewer with long texts; the strongest are shown, and all count. Left out if all are shown. */
    further?: FurtherItems | null;
    /** Components of the score. The contributions of all components sum exactly to `risk_score`. At most 100 labels and 100 flows are components of their own, the strongest; one component each has the contribution of the others. */
    scoring_components?: ScoringComponent[];
    /** Components that decided a `review` or a `block`. Left out of other verdicts. */
    decisive?: Decisive | null;
    /** Origins and destinations of funds. Shares of one direction and asset sum exactly to 1. */
    exposure?: Exposure[];
    /** Dealings with contracts on an account chain: own money that they exchanged or gave back, tokens and claims, and what they paid from their own. Left out without any. */
    contracts?: ContractUse | null;
    /** Addresses that are associated with the assessed address. */
    associated_wallets?: AssociatedWallet[];
    /** Behavior patterns that were detected. */
    transaction_patterns?: AssessedPattern[];
    /** Activity of the address over its lifetime. */
    activity?: Activity;
    /** Circumstances that limit the answer and do not change the score. */
    warnings?: Warning[];
    /** Status of each kind of evidence: assessed, partial, or why not. */
    coverage?: Coverage;
    /** Sources that the assessment uses, with their freshness. */
    sources?: AssessedSource[];
    /** Evidence that the assessment covers. */
    scope?: AssessmentScope;
    /** Kind of data: `production`, `sample` for the demo data set, or `sandbox` for made-up facts. */
    environment?: Environment;
    /** Identifier of the data that the assessment uses. */
    data_revision?: string;
    /** Version of the risk model. */
    model_version?: string;
    /** Identifier of the policy's content: equal for policies that decide alike. */
    policy_revision?: string;
    /** The account on each EVM chain, of a check with the blockchain `evm`; left out of other checks. */
    chains?: ChainVerdict[] | null;
    /** Time of the assessment. */
    assessed_at?: string;
    /** SHA-256 of the assessment's canonical JSON: everything in this answer except `check_id`, `reference`, `direction`, `address_submitted`, `assessed_at`, `assessment_digest`, `cached`, `processing_time_ms` and each source's `fetched_at`. */
    assessment_digest?: string;
    /** True if the assessment is repeated from the cache. */
    cached?: boolean;
    /** Milliseconds from the request's arrival to this answer. */
    processing_time_ms?: number;
    /** URI of the problem type. */
    type?: string;
    /** Meaning of the problem type in one sentence. */
    title?: string;
    /** HTTP status. */
    status?: number;
    /** Description of this occurrence of the problem, and of a valid request. */
    detail?: string;
    /** Path of the request. */
    instance?: string;
    /** Problem code. */
    code?: ProblemCode;
    /** Request id, which identifies the request in the logs. */
    request_id?: string;
    /** Errors in fields. */
    errors?: FieldError[];
    /** Names of the limits that refuse the request. */
    "violated-policies"?: string[];
}

/** Problem code.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `malformed_json` | The body is not valid JSON. |
 * | `invalid_request` | A field of the request is wrong. |
 * | `malformed_http` | The request is malformed. |
 * | `missing_key` | No API key was sent. |
 * | `invalid_key` | The API key is not valid. |
 * | `tenant_suspended` | The tenant is suspended. |
 * | `plan_without_api_access` | The tenant's plan has no access to the API. |
 * | `insufficient_scope` | The API key lacks the required scope. |
 * | `not_found` | Nothing exists at this path. |
 * | `transaction_not_found` | The transaction is not known on this blockchain. |
 * | `output_not_found` | The transaction has no such output or transfer. |
 * | `method_not_allowed` | This method is not allowed here. |
 * | `request_timeout` | The request did not arrive in time. |
 * | `idempotency_key_in_use` | A request with this idempotency key is being answered. |
 * | `body_too_large` | The body is too large. |
 * | `unsupported_media_type` | The media type of the body is not supported. |
 * | `idempotency_key_reused` | A request with another body has this idempotency key. |
 * | `unsupported_chain` | The blockchain is not supported. |
 * | `invalid_address` | The address is not valid on this blockchain. |
 * | `chain_not_followed` | No node or indexer is configured for this blockchain. |
 * | `unsupported_transfer` | The transfer cannot be assessed. |
 * | `quota_exceeded` | A rate limit or quota is exceeded. |
 * | `reduced_capacity` | Rate limiting is degraded and the fallback allowance is used up. |
 * | `too_many_in_flight` | Too many requests of the tenant are in flight. |
 * | `headers_too_large` | The request's header fields are too large. |
 * | `internal_error` | Something went wrong here; it was logged. |
 * | `key_data_stale` | Keys could not be confirmed for too long. |
 * | `unavailable` | The service cannot answer in time. |
 * | `overloaded` | Too many requests are in flight. | */
export type ProblemCode = "malformed_json" | "invalid_request" | "malformed_http" | "missing_key" | "invalid_key" | "tenant_suspended" | "plan_without_api_access" | "insufficient_scope" | "not_found" | "transaction_not_found" | "output_not_found" | "method_not_allowed" | "request_timeout" | "idempotency_key_in_use" | "body_too_large" | "unsupported_media_type" | "idempotency_key_reused" | "unsupported_chain" | "invalid_address" | "chain_not_followed" | "unsupported_transfer" | "quota_exceeded" | "reduced_capacity" | "too_many_in_flight" | "headers_too_large" | "internal_error" | "key_data_stale" | "unavailable" | "overloaded" | (string & {});

/** An error in one field. */
export interface FieldError {
    /** Name of the field. */
    field: string;
    /** Description of the error in the field, and of a valid value. */
    message: string;
}

/** Request to check many addresses: 1 to 100 bodies of a check of one address. */
export interface AddressesRequest {
    /** The checks, answered in this order: 1 to 100. */
    checks: CheckRequest[];
}

/** Request to check one transfer: outputs of one transaction, named either by `output` or by `address`; on an account chain, one transfer, named by `log_index`, `trace_index` or `address` where the transaction has several. A withdrawal that is not sent yet has no `transaction`, but `to`, `asset` and `amount`. */
export interface TransferRequest {
    /** Blockchain: its identifier (`btc`, `ltc` and others) or a well-known name, in any letter case. */
    blockchain: string;
    /** Identifier of the transaction, as explorers show it: 64 hexadecimal digits; on an account chain with or without `0x`. Left out for a withdrawal that is not sent yet. */
    transaction?: string | null;
    /** Index of the output that is the transfer, from 0; not on an account chain. */
    output?: number | null;
    /** Index of the event log of the transfer in its block, on an account chain. */
    log_index?: number | null;
    /** Address of the call trace of the transfer, such as `0,1`, or its index, as published, on an account chain. */
    trace_index?: string | null;
    /** Receiver, whose outputs in the transaction are the transfer, in any form that the blockchain allows. */
    address?: string | null;
    /** Receiver of a withdrawal that is not sent yet, in any form that the blockchain allows. */
    to?: string | null;
    /** Sender of a withdrawal that is not sent yet, where it is known. */
    from?: string | null;
    /** Asset of a withdrawal that is not sent yet: `native`, the address of the token's contract, or the ticker of a token whose money is followed. */
    asset?: string | null;
    /** Amount of a withdrawal that is not sent yet, in base units (satoshi, wei): whole, decimal, above zero and below 2^128. */
    amount?: string | null;
    /** Direction: `deposit` assesses the origins of the money, `withdrawal` its receiver. */
    direction: TransferDirection;
    /** Your own reference, at most 128 characters; repeated in the answer. */
    reference?: string | null;
}

/** One page of checks. */
export interface ChecksResponse {
    /** The checks, the newest first. */
    checks: ListedCheck[];
    /** Cursor of the next page; null at the end. A page before the end may have fewer checks than `limit`, or none, because the work for one page is bounded. */
    next_cursor?: string | null;
}

/** An earlier check. `GET /checks/{check_id}` shows its answer. */
export interface ListedCheck {
    /** Identifier of the check. */
    check_id: string;
    /** Time of the answer, to the millisecond. */
    checked_at: string;
    /** Your reference from the request. */
    reference?: string | null;
    /** Identifier of the blockchain. */
    blockchain: string;
    /** Address in canonical form; for a transfer, the receiver's address. */
    address: string;
    /** Risk score, 0 to 100. */
    risk_score: Score;
    /** Verdict of the answer. */
    verdict: string;
    /** Codes of the answer's reasons, and identifiers of the minimum score rules that fired, each once. */
    rules: string[];
}

/** Answer to one row. */
export interface ScreenResponse {
    /** Number of the row in the request, from 1; empty lines are not counted. */
    row: number;
    /** Your reference from the row. */
    reference?: string | null;
    /** Identifier of the blockchain, or the submitted text. */
    blockchain?: string | null;
    /** Address in canonical form, or the submitted text. */
    address?: string | null;
    /** Risk score, from 0 to 100. */
    risk_score?: Score | null;
    /** Band of the score. */
    risk_level?: RiskLevel | null;
    /** Verdict under the policy. */
    verdict?: Verdict | null;
    /** Categories of the address and of addresses tied to it, riskiest first. */
    categories: Category[];
    /** True if a sanctions list names the address itself today. */
    sanctioned?: boolean | null;
    /** Text of the reason with the largest weight. */
    reason?: string | null;
    /** Evidence that the row covers. `lists_and_labels`: flows of funds were not requested, or are not known. A row with `lists_and_labels` does not get the verdict `allow` on a chain whose flows are followed, or if the policy requires flows. */
    scope: AssessmentScope;
    /** Evidence by which the row was decided: `lists_and_labels`, `trace` for all evidence of a check, or `compositions` for the address's history and the compositions of its transactions (breakdowns of their funds by origin), if the policy allows these even at their largest weight. With `compositions`, a check has the same verdict, and this score or a lower one. */
    decided_by?: DecidedBy | null;
    /** Reason why the row was not answered. Rows that were not answered are not charged. */
    error?: string | null;
}

/** Evidence by which a row was decided.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `lists_and_labels` | Lists and labels. |
 * | `compositions` | Lists, labels, the address's history and the compositions (origin breakdowns) of its transactions. A check of the address has the same verdict, and the same score or a lower score. |
 * | `trace` | All evidence of a check, flows included. | */
export type DecidedBy = "lists_and_labels" | "compositions" | "trace" | (string & {});

/** One row of a request. */
export interface ScreenRequest {
    /** Blockchain: its identifier or a well-known name, in any letter case. */
    blockchain: string;
    /** Address in any form that the blockchain allows. */
    address: string;
    /** Your own reference, at most 128 characters; repeated in the row's answer. */
    reference?: string | null;
}

/** Charges of a tenant. */
export interface UsageResponse {
    /** First day. */
    from: string;
    /** Last day. */
    to: string;
    /** Total number of answered checks and rows. */
    total: number;
    /** Charges by day, key, plan, operation and verdict. */
    usage: UsageRow[];
}

/** Charges of one day, key, plan, operation and verdict. */
export interface UsageRow {
    /** The day (UTC). */
    day: string;
    /** Visible part of the key. */
    key: string;
    /** The plan. */
    plan: string;
    /** `check` for single addresses, `screen` for rows of bulk requests. */
    operation: string;
    /** The verdict. */
    verdict: string;
    /** Number of charges. */
    count: number;
}

/** Settings of a tenant. */
export interface AccountResponse {
    /** The tenant. */
    tenant: AccountTenant;
    /** The tenant's plan. */
    plan: AccountPlan;
    /** The limits in force, all of which apply to each request. */
    limits: AccountLimit[];
    /** The risk policy of the tenant's answers. */
    policy: AccountPolicy;
    /** The tenant's API keys, including revoked and expired ones, oldest first. */
    keys: AccountKey[];
}

/** A tenant. */
export interface AccountTenant {
    /** Name of the tenant. */
    name: string;
    /** Display name. */
    display_name: string;
}

/** Properties of a plan in addition to its limits. */
export interface AccountPlan {
    /** Name of the plan. */
    name: string;
    /** Display name. */
    display_name: string;
    /** Largest number of rows in one bulk request. */
    max_screen_rows: number;
    /** Largest number of rows in one bulk request with `scope=full`. */
    max_full_screen_rows: number;
    /** Largest number of your requests in flight on one server, with checks counted separately for each blockchain; null: a fair share of the server's capacity. */
    max_in_flight?: number | null;
    /** Largest number of your bulk requests in flight on one server; null: a fair share of the server's capacity. */
    max_streams?: number | null;
    /** Seconds for which an answer may be repeated from the cache. */
    cache_seconds: number;
    /** Seconds for which an answer can be retrieved again. */
    checks_kept_seconds: number;
    /** Seconds for which usage is kept. */
    usage_kept_seconds: number;
}

/** A limit in force. */
export interface AccountLimit {
    /** Name, as in `RateLimit` header fields. */
    name: string;
    /** Requests or checks allowed in one window. */
    requests: number;
    /** Length of the window in seconds. */
    window_seconds: number;
    /** Unit that the limit counts. */
    counts: Counts;
    /** Subject whose requests are counted together. */
    per: Per;
    /** Kind of object that sets the number of requests. */
    source: LimitSource;
    /** Name of the rate limit that sets the number; null for the plan's own number. */
    rate_limit?: string | null;
    /** Expiry time of the rate limit; null if it does not expire. */
    until?: string | null;
    /** The plan's own number of requests. */
    plan_requests: number;
}

/** Events that a limit counts.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `requests` | Authenticated requests with any response status. |
 * | `checks` | Checks that were answered with status 200, and rows of `/screen` that were answered. | */
export type Counts = "requests" | "checks" | (string & {});

/** Callers whose requests a limit counts together.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `key` | Requests of one key. |
 * | `tenant` | Requests of all keys of one tenant. |
 * | `plan` | Requests of all tenants of the plan. | */
export type Per = "key" | "tenant" | "plan" | (string & {});

/** Kind of object that sets a limit's number.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `plan` | The plan. |
 * | `rate_limit` | A rate limit, for the tenant or for its plan. | */
export type LimitSource = "plan" | "rate_limit" | (string & {});

/** A policy. */
export interface AccountPolicy {
    /** Name of the policy. */
    name: string;
    /** Revision of the policy's content, as `policy_revision` in answers. */
    revision: string;
}

/** An API key, without its secret. */
export interface AccountKey {
    /** Visible part of the key. */
    id: string;
    /** Name given by its owner. */
    name: string;
    /** Environment in which the key is valid: `live`, `sample` for the demo data set, or `sandbox`. */
    environment: string;
    /** Operations that the key permits. */
    scopes: string[];
    /** State of the key: `active`, `expired` or `revoked`. */
    state: string;
    /** Creation time. */
    created_at: string;
    /** Expiry time; null if the key does not expire. */
    expires_at?: string | null;
    /** Time at which the key was revoked; null if it was not revoked. */
    revoked_at?: string | null;
    /** Time at which the key was last used; uses through other servers appear within a minute. */
    last_used_at?: string | null;
}

/** Sources of answers. */
export interface SourcesResponse {
    /** All sources; the caller's policy decides `mandatory` and `stale`. */
    sources: AssessedSource[];
    /** Revision of the data. */
    data_revision: string;
    /** Kind of data: real, or a sample. */
    environment: Environment;
}

/** Blockchains. */
export interface ChainsResponse {
    /** All blockchains, in the order of the documentation. The list of blockchains may grow. */
    chains: ChainRow[];
    /** Revision of the data. */
    data_revision: string;
}

/** A blockchain. */
export interface ChainRow {
    /** Identifier in requests and answers. */
    blockchain: ChainId;
    /** Name of the chain. */
    name: string;
    /** Other names that requests may use. */
    aliases: string[];
    /** Ticker of the native coin; empty if there is none. */
    asset: string;
    /** Assets whose money is followed, the native coin first. */
    assets: FollowedAsset[];
    /** Parts of an answer that this version can give on the chain. */
    supported: ChainCoverage;
    /** Parts that this installation has data for. */
    installed: InstalledChain;
}

/** An asset whose money is followed. */
export interface FollowedAsset {
    /** Asset: `native`, or the address of the token's contract. */
    asset: string;
    /** Ticker of amounts in answers. */
    ticker: string;
    /** Decimals: one unit has 10 to this power base units. */
    decimals: number;
}

/** The features of an assessment that Assay supports on a chain. */
export interface ChainCoverage {
    /** Addresses are validated by the chain's own rules. */
    addresses: boolean;
    /** Lists are searched for an address. */
    lists: boolean;
    /** Labels are searched for an address. */
    labels: boolean;
    /** Flows of the native coin are traced. */
    flows: boolean;
    /** Flows of tokens are traced. */
    tokens: boolean;
    /** Behavior patterns are detected. */
    patterns: boolean;
    /** Single transfers are assessed. */
    transfers: boolean;
    /** Addresses of one owner are clustered. */
    clusters: boolean;
}

/** Data of this installation on a blockchain. */
export interface InstalledChain {
    /** Number of addresses that lists name, ended listings included. */
    listed_addresses: number;
    /** Number of addresses with labels. */
    labeled_addresses: number;
    /** Height of the latest block of the chain's graph; null if the chain is not ingested. */
    latest_block_height?: number | null;
    /** True if flows are traced: the chain is ingested, or read on demand. */
    flows: boolean;
}

/** Listed parties with a name. */
export interface EntitiesResponse {
    /** Name that was looked up. */
    name: string;
    /** Listed parties with addresses whose names are similar, the most similar first. Parties without crypto addresses are not searched. */
    entities: FoundEntity[];
    /** Revision of the data. */
    data_revision: string;
}

/** Party of a list whose name was found. */
export interface FoundEntity {
    /** Identifier of the list. */
    list: ListId;
    /** Name of the list. */
    list_name: string;
    /** Identifier of the party on the list. */
    entity_id: string;
    /** Primary name of the party. */
    name: string;
    /** Name that matches: the primary one or another one. */
    matched_name: string;
    /** Way in which the name matches. */
    match: NameMatch;
    /** Likeness of the names, 75 to 100. The score is never part of a risk score. */
    score: number;
    /** Sanctions programs under which the party is listed. */
    programs: string[];
    /** Number by which the publisher refers to the entry. */
    order_number?: string | null;
    /** Law, regulation or decision that the entry rests on. */
    legal_basis?: string | null;
    /** Address of the publisher's page or document about the entry. */
    official_link?: string | null;
    /** Documents and numbers by which the list identifies the party, such as `Passport 040070827`. */
    identifiers: string[];
    /** Remarks of the list on the party. */
    remarks?: string | null;
    /** Date on which the party was listed, as the list states it. */
    listed_on?: string | null;
    /** Source that the entry was imported from. */
    source: SourceId;
    /** Addresses of the party on this list, ended ones included. */
    addresses: FoundAddress[];
}

/** Way in which a name was found.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `exact` | The same name but for letter case, accents, punctuation and white space. |
 * | `transliterated` | The same words in another script or order. |
 * | `fuzzy` | A similar name; the score says how similar. |
 * | `words` | A name with further words: it has each word that was looked up, or one with a letter of difference. | */
export type NameMatch = "exact" | "transliterated" | "fuzzy" | "words" | (string & {});

/** Address of a listed party. */
export interface FoundAddress {
    /** Blockchains on which the address is listed; empty if Assay does not support its chain. */
    blockchains: string[];
    /** Canonical address, else the address as the list prints it. */
    address: string;
    /** Asset code of the list. */
    asset_code: string;
    /** Status today. */
    status: ListingStatus;
    /** Date of the first publication known to hold the address. */
    listed_on?: string | null;
    /** Date of the first publication without the address. */
    delisted_on?: string | null;
    /** First day on which the listing is not valid by its own terms. */
    expires_on?: string | null;
}

/** Catalogue of the terms in answers, with the severities of the caller's policy. */
export interface Catalogue {
    /** Version of the risk model. */
    model_version: string;
    /** Identifier of the content of the caller's policy. */
    policy_revision: string;
    /** Lowest scores of risk levels and verdicts. */
    thresholds: CatalogueThresholds;
    /** Entity categories. */
    categories: CatalogueCategory[];
    /** Strengths of evidence, strongest first. */
    tiers: CatalogueTier[];
    /** Heuristics that associate addresses. */
    heuristics: CatalogueHeuristic[];
    /** Behavior patterns. */
    patterns: CataloguePattern[];
    /** Minimum score rules in force under the caller's policy. */
    rules: CatalogueRule[];
}

/** Lowest scores of risk levels and verdicts. */
export interface CatalogueThresholds {
    /** Lowest score of the risk level `medium`. */
    medium: Score;
    /** Lowest score of the risk level `high`. */
    high: Score;
    /** Lowest score of the risk level `severe`. */
    severe: Score;
    /** Lowest score of the verdict `review`. */
    review: Score;
    /** Lowest score of the verdict `block`. */
    block: Score;
}

/** An entity category. */
export interface CatalogueCategory {
    /** Identifier in answers. */
    id: string;
    /** Definition of the category. */
    definition: string;
    /** Severity under the caller's policy, 0 to 100. */
    severity: number;
    /** Severity by default, 0 to 100. */
    default_severity: number;
    /** Basis of the default severity: the publications that it follows. */
    severity_basis: string;
    /** True if entities of the category hold or move other people's funds. Flows through a service are shown and not scored. */
    is_service: boolean;
    /** True if entities of the category are virtual asset service providers (VASPs); null if that depends on the entity. */
    is_vasp?: boolean | null;
}

/** A strength of evidence. */
export interface CatalogueTier {
    /** Identifier in answers. */
    id: string;
    /** Highest score that evidence of this tier and of weaker tiers can reach together. */
    cap: Score;
}

/** A heuristic that associates addresses. */
export interface CatalogueHeuristic {
    /** Identifier in answers. */
    id: string;
    /** Definition of the heuristic. */
    definition: string;
    /** Tier of the heuristic's findings. */
    tier: Tier;
    /** True if this version of Assay applies the heuristic. */
    supported: boolean;
}

/** A behavior pattern. */
export interface CataloguePattern {
    /** Identifier in answers. */
    id: string;
    /** Definition of the pattern. */
    definition: string;
    /** Severity under the caller's policy, 0 to 100. */
    severity: number;
    /** Severity by default, 0 to 100. */
    default_severity: number;
    /** True if this version of Assay detects the pattern. */
    supported: boolean;
}

/** A minimum score rule: it raises the score to the threshold of its verdict. */
export interface CatalogueRule {
    /** Identifier in answers: `rule` of a scoring component. */
    id: string;
    /** Situation in which the rule fires. */
    description: string;
    /** Lowest verdict that the rule leads to. `block` needs evidence of the tier `investigation` or stronger. */
    verdict: RuleVerdict;
    /** True if every policy has the rule, and no policy changes it. */
    fixed: boolean;
}

/** Verdict that a rule leads to at least.
 *
 * Further values may be added.
 *
 * | value | meaning |
 * |---|---|
 * | `review` | The score is raised to the review threshold. |
 * | `block` | The score is raised to the block threshold; to just below it if the rule fires only with evidence that is weaker than the tier `investigation`. | */
export type RuleVerdict = "review" | "block" | (string & {});

/** Outcomes of the sandbox on one blockchain. */
export interface SandboxCatalog {
    /** Identifier of the blockchain. */
    blockchain: ChainId;
    /** The outcomes, each with what chooses it. */
    outcomes: OutcomeEntry[];
}

/** An outcome with the addresses and the transaction that choose it. */
export interface OutcomeEntry {
    /** Name: a verdict, a circumstance, or the code of a problem. New names may be added. */
    outcome: string;
    /** HTTP status of a check. */
    status: number;
    /** Description in one sentence. */
    description: string;
    /** Addresses that choose the outcome, one of each form; none for outcomes of transfers only. */
    addresses: string[];
    /** Transaction that chooses the outcome in a check of a transfer; null on blockchains without such checks. */
    transaction?: string | null;
}

/** Health of the server. */
export interface Health {
    /** `ok` or `degraded`. */
    status: string;
    /** Degradations under which requests are still answered. */
    degraded: string[];
}

/** Problem details (RFC 9457). */
export interface ProblemDetails {
    /** URI of the problem type. */
    type: string;
    /** Meaning of the problem type in one sentence. */
    title: string;
    /** HTTP status. */
    status: number;
    /** Description of this occurrence of the problem, and of a valid request. */
    detail: string;
    /** Path of the request. */
    instance: string;
    /** Problem code. */
    code: ProblemCode;
    /** Request id, which identifies the request in the logs. */
    request_id: string;
    /** Errors in fields. */
    errors?: FieldError[];
    /** Names of the limits that refuse the request. */
    "violated-policies"?: string[];
}
