// Time limit of a request.

/** Aborts a request that takes longer than a time. */
export class TimeLimit {
    readonly #abort = new AbortController();
    readonly #seconds: number;
    #timer: ReturnType<typeof setTimeout> | undefined;

    /** Makes a limit that runs from now on. */
    constructor(seconds: number) {
        this.#seconds = seconds;
        this.start();
    }

    /** Signal that aborts the request. */
    get signal(): AbortSignal {
        return this.#abort.signal;
    }

    /** Starts the time anew. */
    start(): void {
        this.stop();
        const late = () => this.#abort.abort(new Error(`no response in ${this.#seconds} seconds`));
        this.#timer = setTimeout(late, this.#seconds * 1000);
    }

    /** Ends the limit. */
    stop(): void {
        clearTimeout(this.#timer);
    }
}
