/** How many lines of an answer are shown before Ctrl+O, where no setting says otherwise. */
export const DEFAULT_LINES = 15;
