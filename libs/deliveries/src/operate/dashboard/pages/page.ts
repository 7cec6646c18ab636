/** Which template shows a page. */
export type TemplateName = 'overview' | 'list' | 'detail' | 'audit' | 'confirm' | 'error';

/** A page before it is put into words of HTML: pure data, every text in it unescaped. */
export interface Page<Model extends object = object> {
  readonly template: TemplateName;
  readonly title: string;
  /** The entry of the navigation that it belongs to. */
  readonly nav?: 'overview' | 'deliveries' | 'audit';
  /** The page renews itself while it is looked at. */
  readonly live?: boolean;
  /** Says on top what has just been done, or refused. */
  readonly notice?: NoticeView;
  readonly model: Model;
}

/** A line that wants to be read. */
export interface NoticeView {
  readonly tone: 'good' | 'warn' | 'bad' | 'calm';
  readonly icon: string;
  /** `alert` is read out at once, `status` when there is time. */
  readonly role: 'alert' | 'status' | 'note';
  readonly title: string;
  readonly text?: string;
  /** Below the dashboard's own address. */
  readonly href?: string;
  /** What the link says. */
  readonly act?: string;
}
